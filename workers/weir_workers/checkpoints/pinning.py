"""Pins in a job's log. They hold for whoever retires, a running driver too: it reads what others have added before it may add anything."""

from __future__ import annotations

import time
import uuid
from enum import Enum, auto

from weir.errors import StorageError, Superseded
from weir.protocol.ids import CheckpointId
from weir.protocol.joblog import CheckpointPinned
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import Appended, JobLog
from weir.storage.layout import JobLayout
from weir_backend.checkpoints.presence import Presence, presence
from weir_backend.retention.pins import WantedPin

TRIES_MAX = 20
"""A driver adds an entry with each checkpoint, so a number of the log is lost to it now and then, and not for ever."""


class Pinned(Enum):
    IN_LOG = auto()
    TOO_LATE = auto()
    """It was retired before."""
    NOT_THERE = auto()
    """The log does not know it: see ``Presence.UNKNOWN``."""


def pin(storage: CheckpointStorage, wanted: WantedPin) -> Pinned:
    """Safe to do twice. Raises CheckpointError for a log that cannot be read, StorageError: nobody knows then, and it is tried again."""
    job_log = JobLog(storage, JobLayout(wanted.place.name))
    checkpoint = CheckpointId(wanted.number)
    for _ in range(TRIES_MAX):
        view, number = job_log.read()
        match presence(view, wanted.number, wanted.generation):
            case Presence.RETIRED:
                return Pinned.TOO_LATE
            case Presence.UNKNOWN:
                return Pinned.NOT_THERE
            case Presence.KEPT:
                pass
        if (checkpoint in view.pinned) == wanted.pinned:
            return Pinned.IN_LOG
        entry = CheckpointPinned(view.generation, checkpoint, wanted.pinned, uuid.uuid4().hex, time.time_ns() // 1_000_000)
        try:
            if isinstance(job_log.append(entry, at=number), Appended):
                return Pinned.IN_LOG
        except Superseded:
            continue  # another generation has begun since the log was read
    raise StorageError(f"the log of job {wanted.place.name} changes faster than a pin can be added: try again")
