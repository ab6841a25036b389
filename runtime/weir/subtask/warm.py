"""Everything that is compiled on first use, used once: before a slot registers, and before Spark's daemon forks.

Compiled kernels are inherited over a fork, so a replacement for a lost slot finds them ready. None of them
starts a thread, which is what allows running them before a fork (polars does, so it is not touched here).
"""

from __future__ import annotations

from weir.connectors import generated_columns
from weir.connectors.generated_columns import column_filler
from weir.operators.warm import warm as warm_operators

_ROWS = 16


def warm() -> None:
    """Some ten seconds with an empty cache of compiled kernels, half a second with a full one, nothing the second time."""
    warm_operators()
    _warm_generator()


def _warm_generator() -> None:
    for name, column in {
        "key": generated_columns.uniform_ints(distinct=_ROWS, sparse=True),
        "value": generated_columns.ints(0, 10),
        "word": generated_columns.zipf_words(),
    }.items():
        column_filler(name, column, 0)(0, 1, _ROWS, 0)
