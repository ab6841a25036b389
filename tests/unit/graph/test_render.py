"""The text rendering of a graph."""

from __future__ import annotations

import json

from tests.unit.graph.graph_builders import counts, graph, row_map, sink, source

from weir.graph.compile import compile_graph
from weir.graph.physical import PhysicalGraph
from weir.graph.render import render
from weir.protocol import codec


def compiled() -> PhysicalGraph:
    return compile_graph(
        graph(
            source("lines", parallelism=1),
            row_map("map-1", "lines", derived=True),
            counts("count", "map-1", "word"),
            sink("out", "count"),
        ),
        slots=2,
    )


def test_a_rendered_graph_shows_chains_and_partitioning_and_parallelism_and_derived_uids() -> None:
    assert render(compiled()).splitlines() == [
        "words: 4 operators in 3 chains on 2 slots",
        "",
        "chain 0, parallelism 1",
        "  lines   source     text  (job.py:1)",
        "",
        "chain 1, parallelism 2",
        "  <- chain 0 (lines), rebalance",
        "  map-1*  map        (job.py:1)",
        "",
        "chain 2, parallelism 2",
        "  <- chain 1 (map-1), hash by word",
        "  count   aggregate  n=count()  [128 key groups]  (job.py:1)",
        "  out     sink       parquet  (job.py:1)",
        "",
        "* derived uid: set uid=... on stateful operators, so that a changed graph finds their state",
    ]


def test_a_graph_round_trips_through_json() -> None:
    assert codec.loads(PhysicalGraph, json.dumps(codec.to_json(compiled())).encode()) == compiled()
