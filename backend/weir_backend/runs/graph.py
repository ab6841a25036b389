"""The content of graphs: their digest, and the names of their chains. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weir_backend.kit.jsonb import clean

GRAPH_BYTES_MAX = 16 << 20
"""The largest size of a graph as JSON. An event contains the graph, so every limit on events must allow this size."""


@dataclass(frozen=True, slots=True)
class GraphContent:
    """``text`` is the graph as canonical JSON, and ``digest`` its SHA-256."""

    digest: bytes
    text: str


def graph_content(graph: dict[str, Any]) -> GraphContent:
    """Return the content of a graph. Raises ValueError or RecursionError if the graph is not valid JSON."""
    text = json.dumps(clean(graph), separators=(",", ":"), ensure_ascii=True, allow_nan=False, sort_keys=True)
    return GraphContent(hashlib.sha256(text.encode()).digest(), text)


@dataclass(frozen=True, slots=True)
class OperatorName:
    uid: str
    name: str


def operators_by_chain(graph: Mapping[str, Any] | None) -> dict[int, list[OperatorName]]:
    """Return the operators of each chain, in their order in the chain. The graph comes from a driver, so it can have invalid parts. These are left
    out."""
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
