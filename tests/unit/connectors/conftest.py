from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from tests.unit.connectors.connector_harness import ReadAll, Reading

from weir.connectors.base import Source


@pytest.fixture
def read_all() -> Iterator[ReadAll]:
    """A function that reads all rows of a source with a given parallelism and batch size."""
    opened: list[Reading] = []

    def read(source: Source, *, parallelism: int = 1, batch_rows: int = 65_536) -> pa.Table:
        reading = Reading(source, source.splits(parallelism), batch_rows=batch_rows)
        opened.append(reading)
        batches = list(reading.batches())
        assert all(0 < batch.num_rows <= batch_rows for batch in batches)
        return pa.Table.from_batches(batches, schema=source.schema())

    yield read
    for reading in opened:
        reading.reader.close()
