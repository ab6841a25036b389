"""Write pins to the job log.

Every process that retires checkpoints respects the pins in the job log. A running driver respects pins, too, because it
must read the entries of other processes before it can append its own entries.
"""

from __future__ import annotations

import time
import uuid
from enum import Enum, auto

from weir.errors import StorageError, Superseded
from weir.protocol.ids import CheckpointId
from weir.protocol.job_log import CheckpointPinned
from weir.storage.base import CheckpointStorage
from weir.storage.job_log import Appended, JobLog
from weir.storage.layout import JobLayout
from weir_backend.checkpoints.pins import PinRequest
from weir_backend.checkpoints.retention_rules import LogPresence, presence_in_log

TRIES_MAX = 20
"""Maximum number of attempts to append the pin. An attempt fails if the driver appends an entry with the same number first."""


class PinResult(Enum):
    IN_LOG = auto()
    TOO_LATE = auto()
    """The checkpoint is already retired."""
    NOT_FOUND = auto()
    """The log does not contain the checkpoint: see ``LogPresence.UNKNOWN``."""


def pin(storage: CheckpointStorage, wanted: PinRequest) -> PinResult:
    """Write the pin, unless the log contains it already. Raises CheckpointError if the log cannot be read. Raises StorageError if the
    outcome is unknown; the caller can retry."""
    job_log = JobLog(storage, JobLayout(wanted.place.name))
    checkpoint = CheckpointId(wanted.number)
    for _ in range(TRIES_MAX):
        view, number = job_log.read()
        match presence_in_log(view, wanted.number, wanted.generation):
            case LogPresence.RETIRED:
                return PinResult.TOO_LATE
            case LogPresence.UNKNOWN:
                return PinResult.NOT_FOUND
            case LogPresence.KEPT:
                pass
        if (checkpoint in view.pinned) == wanted.pinned:
            return PinResult.IN_LOG
        entry = CheckpointPinned(view.generation, checkpoint, wanted.pinned, uuid.uuid4().hex, time.time_ns() // 1_000_000)
        try:
            if isinstance(job_log.append(entry, at=number), Appended):
                return PinResult.IN_LOG
        except Superseded:
            continue  # another generation has started since the log was read
    raise StorageError(f"the log of job '{wanted.place.name}' changes too fast to append a pin: try again")
