"""The graph of the jobs whose rows fill the tables. The graph is compiled as a worker compiles an ordinary job."""

from __future__ import annotations

from typing import Any, cast

import polars as pl

from weir import Job, agg, sinks, sources
from weir.graph.compile import compile_graph
from weir.protocol.codec import to_json

SLOTS = 8
CHAINS = 3
"""The number of chains of the graph below. The simulated drivers report the subtasks of these chains."""
SUBTASKS = CHAINS * SLOTS


def graph() -> dict[str, Any]:
    """Return the graph as a driver reports it: the physical graph, which contains the logical graph."""
    job = Job("orders")
    orders = job.read(
        sources.generator({"customer": sources.uniform_ints(distinct=10_000), "cents": sources.ints(0, 100_000)}), uid="orders"
    )
    valid = orders.filter(pl.col("cents") > 0)
    per_customer = valid.key_by("customer").aggregate(orders=agg.count(), cents=agg.sum("cents"), uid="per-customer")
    classes = per_customer.select(level=pl.col("cents") // 100_000, orders=pl.col("orders"))
    per_level = classes.key_by("level").aggregate(orders=agg.sum("orders"), uid="per-level")
    per_level.write(sinks.stats(), uid="out")
    logical, _ = job.to_graph()
    physical = compile_graph(logical, slots=SLOTS)
    assert [chain.parallelism for chain in physical.chains] == [SLOTS] * CHAINS, (
        "the compiled graph does not have the expected chains"
    )
    return cast("dict[str, Any]", to_json(physical))
