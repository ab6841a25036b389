"""Several streams as one. No order between inputs, the order within each is kept."""

from __future__ import annotations

import pyarrow as pa

from weir.operators.base import Operator, Step


class UnionOperator(Operator):
    """Inputs have the same columns; layouts of the same values (string, large_string) are made one."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        if batch.num_rows:
            yield batch if batch.schema == self._schema else batch.cast(self._schema)
