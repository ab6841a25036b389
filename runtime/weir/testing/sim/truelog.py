"""What is in the job's log, as somebody knows who saw every entry come and go. Objects to whatever must not happen to it."""

from __future__ import annotations

import json

from weir.protocol import codec
from weir.protocol.joblog import Entry, LogSummarised, decode_entry
from weir.protocol.logview import LogView
from weir.storage.layout import log_number
from weir.testing.sim.slot import LAYOUT
from weir.testing.sim.world import Violation, World


class TrueLog:
    def __init__(self, world: World) -> None:
        self._world = world
        self._length = 0
        self._base = 0
        """Number of the newest summary."""
        self.view = LogView()
        self.trimmed = 0
        """How many entries were deleted."""
        self.created_late = 0
        """How many were created at a number that was trimmed: they are not in the log."""

    def on_created(self, path: str, data: bytes, creator: str) -> Entry | None:
        """The entry that is now in the log; None: it is something else, or an entry that came too late."""
        number = log_number(LAYOUT.relative(path))
        if number is None:
            return None
        if number <= self._length:
            self._world.say(f"log: {path} was trimmed and is created again by {creator}, too late")
            self.created_late += 1
            return None
        if number != self._length + 1:
            raise Violation(f"{creator} wrote {path}, and the log ended at {self._length}")
        entry = decode_entry(json.dumps(json.loads(data)["entry"]).encode())
        stale = self.view.is_stale(entry)
        self._world.say(f"log: {type(entry).__name__} generation {entry.generation}{' (stale)' if stale else ''}")
        if stale:
            raise Violation(f"{creator} wrote {type(entry).__name__} of fenced generation {entry.generation} as {path}")
        if isinstance(entry, LogSummarised):
            if entry.view != codec.to_json(self.view):
                raise Violation(f"{path} by {creator} does not sum up what is before it")
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
            raise Violation(f"{path} is deleted, and no summary in the log stands for it")
