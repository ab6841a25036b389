"""Which sinks can take back what they have committed. A test holds this against the connectors themselves, which the backend must not load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

REVOCABLE = frozenset({"parquet", "json_lines"})


def sinks_of(graph: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Of a physical graph as JSON: uid, kind of connector, and whether it is revocable."""
    for operator in graph["logical"]["operators"]:
        if operator["kind"] == "sink":
            kind = str((operator.get("config") or {}).get("kind", "unknown"))
            yield operator["uid"], kind, kind in REVOCABLE


def operators_of(graph: Mapping[str, Any]) -> list[str]:
    return [operator["uid"] for operator in graph["logical"]["operators"]]
