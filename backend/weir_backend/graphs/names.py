"""What the chains of a stored graph are called. Pure; a graph is what some driver sent, so nothing is taken for granted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OperatorName:
    uid: str
    name: str


def operators_by_chain(graph: Mapping[str, Any] | None) -> dict[int, list[OperatorName]]:
    """Of each chain, first to last. What is not as expected is left out."""
    if graph is None:
        return {}
    logical = graph.get("logical")
    operators = _list(logical.get("operators")) if isinstance(logical, dict) else []
    names = {one["uid"]: str(one.get("name", one["uid"])) for one in operators if isinstance(one.get("uid"), str)}
    found: dict[int, list[OperatorName]] = {}
    for chain in _list(graph.get("chains")):
        index, uids = chain.get("index"), chain.get("operators")
        if type(index) is int and isinstance(uids, list):
            found[index] = [OperatorName(str(uid), names.get(str(uid), str(uid))) for uid in uids]
    return found


def _list(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
