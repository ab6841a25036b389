"""Which sinks can take back what they have committed. A test holds this against the connectors themselves, which the backend must not load.
And what they have handed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

REVOCABLE = frozenset({"parquet", "json_lines"})
_COUNTED = {"console": "rows"}
"""Of kinds that are not revocable and whose committables say how many records they hold: where."""


def sinks_of(graph: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Of a physical graph as JSON: uid, kind of connector, and whether it is revocable."""
    for operator in graph["logical"]["operators"]:
        if operator["kind"] == "sink":
            kind = str((operator.get("config") or {}).get("kind", "unknown"))
            yield operator["uid"], kind, kind in REVOCABLE


def records_in(kind: str, payload: Any) -> int | None:
    """How many records a committable of such a sink hands on. None: it does not say."""
    found = payload.get(_COUNTED[kind]) if kind in _COUNTED and isinstance(payload, dict) else None
    return found if type(found) is int else None


def operators_of(graph: Mapping[str, Any]) -> list[str]:
    return [operator["uid"] for operator in graph["logical"]["operators"]]
