"""Everything that is compiled on first use, used once: before a slot registers, and before Spark's daemon forks.

Compiled kernels are inherited over a fork, so a replacement for a lost slot finds them ready. None of them
starts a thread, which is what allows running them before a fork (polars does, so it is not touched here).
"""

from __future__ import annotations

import pyarrow as pa

from weir.connectors import generated_columns
from weir.connectors.generated_columns import column_filler
from weir.graph.logical import Partitioning
from weir.operators.partition import make_partitioner
from weir.state import warm as state_kernels

_ROWS = 16


def warm() -> None:
    """Some ten seconds with an empty cache of compiled kernels, half a second with a full one, nothing the second time."""
    state_kernels.warm()
    _warm_partitioners()
    _warm_generator()


def _warm_partitioners() -> None:
    numbers = pa.record_batch({"key": list(range(_ROWS)), "value": [0.5] * _ROWS})
    words = pa.record_batch({"key": [str(number) for number in range(_ROWS)], "value": [None, 1] * (_ROWS // 2)})
    for batch in (numbers, words):
        partitioner = make_partitioner(Partitioning.HASH, batch.schema, ("key",), 2, 128, 0, _ROWS)
        partitioner.add(batch)
        partitioner.flush()


def _warm_generator() -> None:
    for name, column in {
        "key": generated_columns.uniform_ints(distinct=_ROWS, sparse=True),
        "value": generated_columns.ints(0, 10),
        "word": generated_columns.zipf_words(),
    }.items():
        column_filler(name, column, 0)(0, 1, _ROWS, 0)
