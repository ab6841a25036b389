"""Batches of the events that a dead driver left in its spool."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from weir.protocol.events import CheckpointFailed, NumberedEvent, encode_event
from weir.protocol.ids import CheckpointId, EventNumber
from weir_workers.drivers.spool_import import BATCH_EVENTS_MAX, batches

LAST = BATCH_EVENTS_MAX + 1
"""The number of the last event in a full batch that begins with event 2."""


def spool_with(directory: Path, numbers: Iterable[int], end: bytes = b"") -> Path:
    events = [NumberedEvent(EventNumber(number), 0, CheckpointFailed(CheckpointId(1), "expired")) for number in numbers]
    (directory / f"{1:012}.jsonl").write_bytes(b"".join(encode_event(event) + b"\n" for event in events) + end)
    return directory


def imported(spool: Path) -> list[list[int]]:
    """Import events after event 1, and return the numbers of the events in each batch."""
    return [[event.number for event in batch] for batch in batches(spool, after=1)]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([1, 2, 3], [[2, 3]]),
        ([5, 6], [[5, 6]]),
        ([2, 3, 7], [[2, 3]]),
        ([*range(2, LAST + 3)], [[*range(2, LAST + 1)], [LAST + 1, LAST + 2]]),
        ([*range(2, LAST + 1), LAST + 7], [[*range(2, LAST + 1)]]),
        ([1], []),
    ],
    ids=["stored", "gap before the first event", "gap", "two batches", "gap between two batches", "nothing new"],
)
def test_the_import_stops_at_a_gap_between_two_events(tmp_path: Path, numbers: list[int], expected: list[list[int]]) -> None:
    assert imported(spool_with(tmp_path, numbers)) == expected


def test_the_import_stops_at_an_unreadable_event(tmp_path: Path) -> None:
    assert imported(spool_with(tmp_path, [2, 3], end=b'[4, 0, "Checkp')) == [[2, 3]]
