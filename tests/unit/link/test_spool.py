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


def kept(directory: Path) -> list[object]:
    return events_of(list(read_unconfirmed(directory / "run")))


def test_events_are_numbered_and_stored_in_order(tmp_path: Path) -> None:
    here = spool(tmp_path)
    for event in EVENTS:
        here.append(event)
    assert [one.number for one in here.pending(after=NONE, bytes_max=1 << 30)] == list(range(1, len(EVENTS) + 1))
    assert pending(here) == kept(tmp_path) == list(EVENTS)


def test_a_batch_is_as_large_as_allowed_and_never_empty(tmp_path: Path) -> None:
    here = spool(tmp_path)
    for number in range(1, 11):
        here.append(failed(number))
    size = len(here.pending(after=NONE, bytes_max=0)[0].data)
    assert pending(here, bytes_max=0) == [failed(1)]
    assert len(pending(here, bytes_max=3 * size + 2)) == 3
    assert pending(here, after=9, bytes_max=0) == [failed(10)] and pending(here, after=10) == []


def test_confirmed_events_and_fully_confirmed_files_are_deleted(tmp_path: Path) -> None:
    here = spool(tmp_path, segment_bytes=200)
    for number in range(1, 31):
        here.append(failed(number))
    files = len(list((tmp_path / "run").iterdir()))
    assert files > 5
    here.confirm(EventNumber(15))
    assert here.first() == 16 and pending(here)[0] == failed(16)
    assert len(list((tmp_path / "run").iterdir())) < files and kept(tmp_path)[-1] == failed(30)
    assert failed(16) in kept(tmp_path)
    here.confirm(EventNumber(30))
    assert here.first() == 31 and list((tmp_path / "run").iterdir()) == []
    here.append(failed(31))
    assert kept(tmp_path) == [failed(31)]


def test_only_samples_are_dropped_and_the_gap_is_recorded(tmp_path: Path) -> None:
    clock = Clock()
    here = spool(tmp_path, clock, samples_bytes_max=400)
    while not here.pending(after=NONE, bytes_max=1 << 30) or here._pending_bytes < 400:
        here.append(sample())
    before = len(pending(here))
    for _ in range(3):
        clock.now_ms += 10
        here.append(sample())
    clock.now_ms += 10
    here.append(failed(1))
    here.append(sample())
    assert pending(here)[before:] == [SamplesDropped(3, 1_010, 1_030), failed(1)]
    here.confirm(EventNumber(before + 2))
    here.append(sample(5))
    assert pending(here) == [SamplesDropped(1, 1_040, 1_040), sample(5)]


def test_a_truncated_last_line_is_left_out(tmp_path: Path) -> None:
    here = spool(tmp_path)
    here.append(failed(1))
    here.append(failed(2))
    (segment,) = (tmp_path / "run").iterdir()
    segment.write_bytes(segment.read_bytes()[:-5])
    assert kept(tmp_path) == [failed(1)]


def test_an_empty_spool_leaves_no_files(tmp_path: Path) -> None:
    assert list(read_unconfirmed(tmp_path / "never")) == []


def test_events_are_still_sent_if_the_disk_is_full(tmp_path: Path) -> None:
    here = spool(tmp_path, segment_bytes=1)
    here.append(failed(1))
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    here.append(failed(2))
    here.append(failed(3))
    assert pending(here) == [failed(1), failed(2), failed(3)]
    here.confirm(EventNumber(3))
    assert pending(here) == []


def test_a_directory_with_the_events_of_another_process_is_refused(tmp_path: Path) -> None:
    spool(tmp_path).append(failed(1))
    with pytest.raises(ConfigError, match="contains events of an earlier process"):
        spool(tmp_path)


def test_an_unwritable_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(ConfigError, match="Cannot store events in"):
        spool(tmp_path)


def test_each_recorded_event_calls_appended(tmp_path: Path) -> None:
    here, notified = spool(tmp_path, samples_bytes_max=0), []
    here.appended = lambda: notified.append(1)
    here.append(failed(1))
    here.append(sample())
    assert len(notified) == 1


def test_events_on_disk_are_json_lines(tmp_path: Path) -> None:
    here = spool(tmp_path)
    here.append(failed(1))
    (segment,) = (tmp_path / "run").iterdir()
    assert segment.name == "000000000001.jsonl"
    assert json.loads(segment.read_text()) == [1, 1_000, "CheckpointFailed", {"checkpoint": 1, "reason": "declined"}]
