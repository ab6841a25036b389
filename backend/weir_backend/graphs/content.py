"""What a graph is named by. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from weir_backend.kit.json_form import clean

GRAPH_BYTES_MAX = 16 << 20
"""Of a graph as JSON. It is told in one event, so whatever takes events takes that much."""


@dataclass(frozen=True, slots=True)
class GraphContent:
    """``digest``: SHA-256 of ``text``, which is the graph as canonical JSON: one graph, one text."""

    digest: bytes
    text: str


def content_of(graph: dict[str, Any]) -> GraphContent:
    """Raises ValueError, RecursionError for what is no JSON."""
    text = json.dumps(clean(graph), separators=(",", ":"), ensure_ascii=True, allow_nan=False, sort_keys=True)
    return GraphContent(hashlib.sha256(text.encode()).digest(), text)
