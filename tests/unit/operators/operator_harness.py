"""Runs an operator in the same way as the loop of a slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from weir.operators.base import BackgroundCall, Operator, OperatorContext
from weir.protocol.ids import Generation, OperatorUid


def context(
    batch_rows: int = 65_536, run_in_background: Callable[[Callable[[], object]], BackgroundCall] | None = None
) -> OperatorContext:
    return OperatorContext(
        job="test",
        uid=OperatorUid("op"),
        name="op",
        subtask=0,
        parallelism=1,
        max_parallelism=128,
        key_groups=(0, 127),
        generation=Generation(1),
        batch_rows=batch_rows,
        run_in_background=run_in_background,
    )


def process(operator: Operator, *batches: pa.RecordBatch, batch_rows: int = 65_536) -> list[pa.RecordBatch]:
    """Open the operator, process the batches, and return the output batches. The result contains no None and no empty batch."""
    operator.open(context(batch_rows))
    return [made for batch in batches for made in operator.process(batch, 0) if made is not None and made.num_rows]


def rows(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def sizes(batches: Sequence[pa.RecordBatch]) -> list[int]:
    return [batch.num_rows for batch in batches]
