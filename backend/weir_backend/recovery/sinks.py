"""Which sinks can revoke committed output, and how many records they have committed. The backend does not import the connectors, so it lists the
sinks here; a test compares the list with the connectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

REVOCABLE = frozenset({"parquet", "json_lines"})
_COUNTED = {"console": "rows"}
"""Sinks that are not revocable and whose committables count their records: the kind of the sink, and the key of the count."""


def sinks_of(graph: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield, for each sink in a physical graph (as JSON), its uid, its kind, and whether it is revocable."""
    for operator in graph["logical"]["operators"]:
        if operator["kind"] == "sink":
            kind = str((operator.get("config") or {}).get("kind", "unknown"))
            yield operator["uid"], kind, kind in REVOCABLE


def records_in(kind: str, payload: Any) -> int | None:
    """Return how many records a committable of a sink of this kind contains. None: unknown."""
    found = payload.get(_COUNTED[kind]) if kind in _COUNTED and isinstance(payload, dict) else None
    return found if type(found) is int else None


def operators_of(graph: Mapping[str, Any]) -> list[str]:
    return [operator["uid"] for operator in graph["logical"]["operators"]]
