from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from tests.unit.connectors.connector_harness import make_context, poll

from weir.connectors import sources
from weir.connectors.base import Source
from weir.connectors.files.read_ahead import BURST_S, ReadAheadReader
from weir.connectors.registry import source_from
from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split

SECOND_NS = 1_000_000_000


def read_a_thousand_rows(
    split: Split, batch_rows: int, restored: CheckpointId | None
) -> Iterator[tuple[pa.RecordBatch, JsonValue]]:
    numbers = pa.array(range(1000), pa.int64())
    for first in range(0, 1000, batch_rows):
        rows = numbers.slice(first, batch_rows)
        yield pa.record_batch({"v": rows}), first + len(rows)


class Clock:
    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def rows_within(reader: ReadAheadReader, clock: Clock, *, seconds: float, step_ns: int = 1_000_000) -> list[int]:
    """Poll the reader for ``seconds`` of the fake clock, and return the rows."""
    rows: list[int] = []
    until_ns = clock.now_ns + int(seconds * SECOND_NS)
    while clock.now_ns < until_ns and reader.unfinished():
        assert reader.wait(10)
        batch = poll(reader)
        if batch is None:
            clock.now_ns += step_ns
        else:
            rows += batch["v"].to_pylist()
    return rows


def rate_limited(rate: float) -> tuple[ReadAheadReader, Clock]:
    clock = Clock()
    reader = ReadAheadReader(read_a_thousand_rows, rate=rate, clock_ns=clock)
    reader.open(make_context())
    reader.add_split(Split("a", None))
    return reader, clock


@pytest.mark.parametrize("rate", [3.0, 200.0, 700.0])
def test_rows_are_emitted_in_order_and_at_the_configured_rate(rate: float) -> None:
    reader, clock = rate_limited(rate)
    rows = rows_within(reader, clock, seconds=1.0)
    assert rows == list(range(len(rows)))
    assert rate * (1 - 2 * BURST_S) - 1 <= len(rows) <= rate
    reader.close()


def test_after_a_pause_the_reader_emits_at_most_one_burst() -> None:
    reader, clock = rate_limited(1000.0)
    clock.now_ns += 100 * SECOND_NS
    rows = rows_within(reader, clock, seconds=0.001)
    assert len(rows) == 1000 * BURST_S
    reader.close()


def test_the_position_counts_only_emitted_rows() -> None:
    reader, clock = rate_limited(100.0)
    rows = rows_within(reader, clock, seconds=0.5)
    assert [split.position for split in reader.unfinished()] == [len(rows)]
    reader.close()


def test_a_rate_limited_reader_requests_its_next_poll_when_the_next_row_is_due() -> None:
    reader, clock = rate_limited(200.0)
    assert reader.wait(10)
    assert poll(reader) is None
    assert 1_000_000 < reader.next_poll_after_ns() <= 50_000_000
    reader.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda: sources.text("x", rate=7),
        lambda: sources.json_lines("x", pa.schema([("v", pa.int64())]), rate=7),
    ],
)
def test_a_source_keeps_its_rate_when_a_slot_rebuilds_it(make: Callable[[], Source]) -> None:
    rebuilt = source_from(make().describe())
    assert getattr(rebuilt, "rate") == 7.0  # noqa: B009  # the sources have no common type with ``rate``


def test_an_invalid_rate_is_refused() -> None:
    with pytest.raises(ConfigError, match="rate must be a positive"):
        sources.parquet("x", rate=0)
