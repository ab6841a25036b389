from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest
from tests.unit.connectors.connector_harness import make_context, poll

from weir.connectors.files.read_ahead import IO_WAIT_NS, ReadAheadReader
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split

TEN_ROWS = pa.record_batch({"v": pa.array(range(10), pa.int64())})


class Reads:
    """A read function that yields ``batches`` batches of 80 bytes per split and counts the requested batches."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.requests = 0
        self.progress = threading.Condition()

    def __call__(
        self, split: Split, batch_rows: int, restored: CheckpointId | None
    ) -> Iterator[tuple[pa.RecordBatch, JsonValue]]:
        for position in range(1, self.batches + 1):
            with self.progress:
                self.requests += 1
                self.progress.notify_all()
            yield TEN_ROWS, position

    def wait_for_requests(self, times: int) -> None:
        with self.progress:
            assert self.progress.wait_for(lambda: self.requests >= times, 10)


def reader_of(reads: Reads, *, bytes_ahead: int) -> ReadAheadReader:
    reader = ReadAheadReader(reads, bytes_ahead=bytes_ahead)
    reader.open(make_context())
    return reader


def test_the_reader_stops_at_its_byte_limit_and_continues_when_batches_are_polled() -> None:
    reads = Reads(1000)
    reader = reader_of(reads, bytes_ahead=250)
    reader.add_split(Split("a", None))
    reads.wait_for_requests(4)  # three batches are in the queue, and the fourth waits for space
    for polled in range(1, 997):
        assert reader.wait(10)
        batch = poll(reader)
        assert batch is not None and reader.unfinished()[0].position == polled
        assert reads.requests <= polled + 4
        assert reader.gauges()["read_ahead_bytes"] <= 240
    reader.close()


def test_a_batch_larger_than_the_limit_is_queued_if_the_queue_is_empty() -> None:
    reader = reader_of(Reads(3), bytes_ahead=1)
    reader.add_split(Split("a", None))
    seen = 0
    while reader.unfinished():
        assert reader.wait(10)
        seen += poll(reader) is not None
    assert seen == 3
    reader.close()


def test_the_reader_requests_the_next_split_before_all_batches_of_the_current_split_are_polled() -> None:
    reads = Reads(2)
    reader = reader_of(reads, bytes_ahead=1000)
    assert reader.wants_split()
    reader.add_split(Split("a", None))
    reads.wait_for_requests(2)
    while not reader.wants_split():
        assert reader.wait(10)
    assert [split.id for split in reader.unfinished()] == ["a"]
    reader.add_split(Split("b", None, position=5))
    assert [(split.id, split.position) for split in reader.unfinished()] == [("a", None), ("b", 5)]
    reader.close()


def test_the_loop_polls_less_often_while_the_reading_thread_waits_for_the_disk() -> None:
    disk = threading.Semaphore(0)

    def read(split: Split, batch_rows: int, restored: CheckpointId | None) -> Iterator[tuple[pa.RecordBatch, JsonValue]]:
        for position in (1, 2):
            assert disk.acquire(timeout=10)
            yield TEN_ROWS, position

    reader = ReadAheadReader(read)
    reader.open(make_context())
    reader.add_split(Split("a", None))
    for _ in range(2):
        waits = []
        for _ in range(6):
            assert poll(reader) is None
            waits.append(reader.next_poll_after_ns() / IO_WAIT_NS)
        assert waits == [1, 2, 4, 8, 10, 10]
        disk.release()
        assert reader.wait(10) and poll(reader) is TEN_ROWS
    reader.close()


def test_closing_the_reader_ends_its_thread_even_if_the_queue_is_full() -> None:
    reads = Reads(1000)
    reader = reader_of(reads, bytes_ahead=100)
    reader.add_split(Split("a", None))
    reads.wait_for_requests(2)
    reader.close()
    assert reader._thread is not None
    reader._thread.join(10)
    assert not reader._thread.is_alive()


def test_poll_raises_the_error_of_the_reading_thread() -> None:
    def read(split: Split, batch_rows: int, restored: CheckpointId | None) -> Iterator[tuple[pa.RecordBatch, JsonValue]]:
        yield TEN_ROWS, 1
        raise ZeroDivisionError("raised on the thread")

    reader = ReadAheadReader(read)
    reader.open(make_context())
    reader.add_split(Split("a", None))
    assert reader.wait(10) and poll(reader) is TEN_ROWS and reader.wait(10)
    with pytest.raises(ZeroDivisionError, match="raised on the thread"):
        while poll(reader) is None:
            assert reader.wait(10)
    assert not reader.wants_split()
    reader.close()
