"""Compute the digest of a graph and the names of the operators in its chains. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weir_backend.kit.jsonb import clean

GRAPH_BYTES_MAX = 16 << 20
"""The maximum size of a graph as JSON. A driver sends its graph in one event, so every limit on the size of events must allow
``GRAPH_BYTES_MAX``."""


@dataclass(frozen=True, slots=True)
class GraphContent:
    """``text`` is the graph as canonical JSON. ``digest`` is the SHA-256 of ``text``."""

    digest: bytes
    text: str


def graph_content(graph: dict[str, Any]) -> GraphContent:
    """Return the canonical JSON of a graph and its digest. Raises ValueError or RecursionError if the graph is not valid JSON."""
    text = json.dumps(clean(graph), separators=(",", ":"), ensure_ascii=True, allow_nan=False, sort_keys=True)
    return GraphContent(hashlib.sha256(text.encode()).digest(), text)


@dataclass(frozen=True, slots=True)
class OperatorName:
    uid: str
    name: str


def operators_by_chain(graph: Mapping[str, Any] | None) -> dict[int, list[OperatorName]]:
    """Return the operators of each chain, in their order in the chain. The graph comes from a driver, so invalid parts of the graph are
    ignored."""
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
