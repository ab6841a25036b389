"""Compiling every kernel that operators use, before a slot registers."""

from __future__ import annotations

import pyarrow as pa

from weir.graph.logical import Partitioning
from weir.operators.partition import make_partitioner
from weir.state.warm import warm as warm_state


def warm() -> None:
    """Keyed state and partitioners. With a warm cache under a second; needed once a process."""
    warm_state()
    fixed = pa.record_batch({"key": [1, 2, 3]})
    strings = pa.record_batch({"key": ["a", "b", "c"]})
    for batch in (fixed, strings):
        partitioner = make_partitioner(Partitioning.HASH, batch.schema, ("key",), 2, 128, 0, 16)
        partitioner.add(batch)
        partitioner.flush()
