"""The union operator: merges streams. Keeps the order within each input, but not between inputs."""

from __future__ import annotations

import pyarrow as pa

from weir.operators.base import Operator, Step


class UnionOperator(Operator):
    """The inputs have the same columns. Casts layouts of the same values (string, large_string) to one schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        if batch.num_rows:
            yield batch if batch.schema == self._schema else batch.cast(self._schema)
