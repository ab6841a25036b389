"""The union operator, which merges streams. The operator keeps the order of the records of each input. The order between records
of different inputs is not defined."""

from __future__ import annotations

import pyarrow as pa

from weir.operators.base import Operator, Step


class UnionOperator(Operator):
    """Merges inputs with the same columns. If a batch has another layout of the same values, such as large_string instead of
    string, the operator casts the batch to ``schema``."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        if batch.num_rows:
            yield batch if batch.schema == self._schema else batch.cast(self._schema)
