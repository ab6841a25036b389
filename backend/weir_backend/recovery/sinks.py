"""Which sinks can revoke committed output, and how many records a committable contains. The backend does not import the connectors, so this
module lists the kinds of sinks. A test compares the lists of this module with the connectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

REVOCABLE = frozenset({"parquet", "json_lines"})
_COUNTED = {"console": "rows"}
"""For each kind of sink, the key under which a committable contains its number of records. ``_COUNTED`` contains only kinds of sinks that are not
revocable."""


def sinks_of(graph: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """For each sink in a physical graph (as JSON), yield the uid of the sink, its kind, and whether it is revocable."""
    for operator in graph["logical"]["operators"]:
        if operator["kind"] == "sink":
            kind = str((operator.get("config") or {}).get("kind", "unknown"))
            yield operator["uid"], kind, kind in REVOCABLE


def records_in(kind: str, payload: Any) -> int | None:
    """Return the number of records in a committable of a sink of kind ``kind``, or None if the number is unknown."""
    found = payload.get(_COUNTED[kind]) if kind in _COUNTED and isinstance(payload, dict) else None
    return found if type(found) is int else None


def operators_of(graph: Mapping[str, Any]) -> list[str]:
    return [operator["uid"] for operator in graph["logical"]["operators"]]
