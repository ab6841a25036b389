from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.link.link_examples import EVENTS, failed, sample

from weir.errors import ConfigError
from weir.link.spool import Spool, read_unconfirmed
from weir.protocol.events import SamplesDropped, decode_batch, encode_batch
from weir.protocol.ids import EventNumber

NONE = EventNumber(0)


class Clock:
    now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


OPEN: list[Spool] = []


def spool(directory: Path, clock: Clock | None = None, **limits: int) -> Spool:
    OPEN.append(Spool(directory / "run", wall_ms=clock or Clock(), **limits))
    return OPEN[-1]


def events_of(data: list[bytes]) -> list[object]:
    return [one.event for one in decode_batch(encode_batch(data))]


def pending(of: Spool, after: int = 0, bytes_max: int = 1 << 30) -> list[object]:
    return events_of([one.data for one in of.pending(after=EventNumber(after), bytes_max=bytes_max)])


def stored(directory: Path) -> list[object]:
    return events_of(list(read_unconfirmed(directory / "run")))


def test_events_are_numbered_and_stored_in_order(tmp_path: Path) -> None:
    events_spool = spool(tmp_path)
    for event in EVENTS:
        events_spool.append(event)
    assert [one.number for one in events_spool.pending(after=NONE, bytes_max=1 << 30)] == list(range(1, len(EVENTS) + 1))
    assert pending(events_spool) == stored(tmp_path) == list(EVENTS)


def test_a_batch_has_as_many_events_as_the_limit_allows_but_at_least_one(tmp_path: Path) -> None:
    events_spool = spool(tmp_path)
    for number in range(1, 11):
        events_spool.append(failed(number))
    size = len(events_spool.pending(after=NONE, bytes_max=0)[0].data)
    assert pending(events_spool, bytes_max=0) == [failed(1)]
    assert len(pending(events_spool, bytes_max=3 * size + 2)) == 3
    assert pending(events_spool, after=9, bytes_max=0) == [failed(10)] and pending(events_spool, after=10) == []


def test_a_file_is_deleted_when_all_its_events_are_confirmed(tmp_path: Path) -> None:
    events_spool = spool(tmp_path, segment_bytes=200)
    for number in range(1, 31):
        events_spool.append(failed(number))
    files = len(list((tmp_path / "run").iterdir()))
    assert files > 5
    events_spool.confirm(EventNumber(15))
    assert events_spool.first() == 16 and pending(events_spool)[0] == failed(16)
    assert len(list((tmp_path / "run").iterdir())) < files and stored(tmp_path)[-1] == failed(30)
    assert failed(16) in stored(tmp_path)
    events_spool.confirm(EventNumber(30))
    assert events_spool.first() == 31 and list((tmp_path / "run").iterdir()) == []
    events_spool.append(failed(31))
    assert stored(tmp_path) == [failed(31)]


def test_above_the_size_limit_of_the_spool_only_metrics_samples_are_dropped(tmp_path: Path) -> None:
    clock = Clock()
    events_spool = spool(tmp_path, clock, samples_bytes_max=400)
    while not events_spool.pending(after=NONE, bytes_max=1 << 30) or events_spool._pending_bytes < 400:
        events_spool.append(sample())
    before = len(pending(events_spool))
    for _ in range(3):
        clock.now_ms += 10
        events_spool.append(sample())
    clock.now_ms += 10
    events_spool.append(failed(1))
    events_spool.append(sample())
    assert pending(events_spool)[before:] == [SamplesDropped(3, 1_010, 1_030), failed(1)]
    events_spool.confirm(EventNumber(before + 2))
    events_spool.append(sample(5))
    assert pending(events_spool) == [SamplesDropped(1, 1_040, 1_040), sample(5)]


def test_a_truncated_last_line_of_a_spool_file_is_ignored(tmp_path: Path) -> None:
    events_spool = spool(tmp_path)
    events_spool.append(failed(1))
    events_spool.append(failed(2))
    (segment,) = (tmp_path / "run").iterdir()
    segment.write_bytes(segment.read_bytes()[:-5])
    assert stored(tmp_path) == [failed(1)]


def test_a_missing_spool_directory_has_no_unconfirmed_events(tmp_path: Path) -> None:
    assert list(read_unconfirmed(tmp_path / "missing")) == []


def test_events_are_still_sent_if_they_cannot_be_written_to_disk(tmp_path: Path) -> None:
    events_spool = spool(tmp_path, segment_bytes=1)
    events_spool.append(failed(1))
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    events_spool.append(failed(2))
    events_spool.append(failed(3))
    assert pending(events_spool) == [failed(1), failed(2), failed(3)]
    events_spool.confirm(EventNumber(3))
    assert pending(events_spool) == []


def test_a_spool_directory_with_events_of_an_earlier_process_is_refused(tmp_path: Path) -> None:
    spool(tmp_path).append(failed(1))
    with pytest.raises(ConfigError, match="contains events of an earlier process"):
        spool(tmp_path)


def test_an_unwritable_spool_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(ConfigError, match="Cannot store events in"):
        spool(tmp_path)


def test_the_callback_is_called_only_for_events_that_are_not_dropped(tmp_path: Path) -> None:
    events_spool, notified = spool(tmp_path, samples_bytes_max=0), []
    events_spool.appended = lambda: notified.append(1)
    events_spool.append(failed(1))
    events_spool.append(sample())
    assert len(notified) == 1


def test_events_are_stored_on_disk_as_json_lines(tmp_path: Path) -> None:
    events_spool = spool(tmp_path)
    events_spool.append(failed(1))
    (segment,) = (tmp_path / "run").iterdir()
    assert segment.name == "000000000001.jsonl"
    assert json.loads(segment.read_text()) == [1, 1_000, "CheckpointFailed", {"checkpoint": 1, "reason": "declined"}]
