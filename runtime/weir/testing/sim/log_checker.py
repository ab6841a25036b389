"""Checks the job log: it observes the creation and deletion of every entry."""

from __future__ import annotations

import json
from collections.abc import Collection

from weir.protocol import codec
from weir.protocol.job_log import Entry, LogSummarised, decode_entry
from weir.protocol.log_view import LogView
from weir.storage.layout import log_number
from weir.testing.sim.simulation import Simulation, Violation
from weir.testing.sim.slot import LAYOUT


class LogChecker:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._length = 0
        self._base = 0
        """Number of the newest summary."""
        self.view = LogView()
        self._before: dict[int, tuple[int, int, LogView]] = {}
        """For each entry, the state before the entry: the length of the log, the number of the newest summary, and the view."""
        self.trimmed = 0
        """Number of deleted entries."""
        self.created_late = 0
        """Number of late log entries. An entry is late if another entry with the same number was already trimmed. Late entries
        are not part of the log."""

    def on_created(self, path: str, data: bytes, creator: str) -> Entry | None:
        """Return the new log entry, or None if the object is not an entry, or if an entry with the same number was already
        trimmed."""
        number = log_number(LAYOUT.relative(path))
        if number is None:
            return None
        if number <= self._length:
            self._simulation.trace(f"log: {creator} creates {path}, which was trimmed")
            self.created_late += 1
            return None
        if number != self._length + 1:
            raise Violation(f"{creator} created {path}, but the log ends at {self._length}")
        entry = decode_entry(json.dumps(json.loads(data)["entry"]).encode())
        stale = self.view.is_stale(entry)
        self._simulation.trace(f"log: {type(entry).__name__} generation {entry.generation}{' (stale)' if stale else ''}")
        if stale:
            raise Violation(f"{creator} wrote {type(entry).__name__} of fenced generation {entry.generation} as {path}")
        self._before[number] = (self._length, self._base, self.view)
        if isinstance(entry, LogSummarised):
            if entry.view != codec.to_json(self.view):
                raise Violation(f"{path} by {creator} does not match the entries before it")
            self._base = number
        self.view = self.view.apply(entry)
        self._length = number
        return entry

    def on_deleted(self, path: str) -> None:
        number = log_number(LAYOUT.relative(path))
        if number is None:
            return
        self.trimmed += 1
        if number >= self._base:
            raise Violation(f"{path} was deleted, but no summary covers it")

    def on_put_back(self, paths: Collection[str]) -> int | None:
        """``paths``: the objects of a backup. Return the number of the first entry that is not in the backup, or None."""
        first = 1 + max(number for path in paths if (number := log_number(LAYOUT.relative(path))) is not None)
        if first > self._length:
            return None
        self._length, self._base, self.view = self._before[first]
        return first

    def on_power_cut(self, lost: Collection[str]) -> int | None:
        """Return the number of the first lost entry, or None. Raises Violation if a lost entry is followed by an entry that is
        not lost."""
        numbers = {number for path in lost if (number := log_number(LAYOUT.relative(path))) is not None and number >= self._base}
        if not numbers:
            return None
        first = min(numbers)
        kept = [number for number in range(first, self._length + 1) if number not in numbers]
        if kept:
            raise Violation(f"the power cut has removed log entry {first}, but not log entry {kept[0]}")
        self._length, self._base, self.view = self._before[first]
        return first
