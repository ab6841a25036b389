"""Checkpoints that a driver which is gone has completed and had no time to tell of, not even its spool: it was killed between the entry in the
job's log, which is what counts, and the event. Without them the history would call failed what the next driver goes on from."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.protocol.events import AcknowledgedStatistics, CheckpointCompleted, NumberedEvent
from weir.protocol.ids import EventNumber, Generation, SubtaskId
from weir.protocol.logview import CheckpointRecord
from weir.protocol.manifest import Manifest
from weir.storage.manifests import read_manifest
from weir.storage.open import open_storage
from weir_backend.checkpoints.place import Place
from weir_workers.checkpoints.letting_go import see

log = structlog.get_logger(__name__)


def untold(place: Place, generation: Generation, *, known: Collection[int], after: int) -> tuple[NumberedEvent, ...]:
    """As its next events. ``generation``: the runtime's that the driver told last; an older one was another driver's. ``known``: numbers of those
    that are known to be completed. ``after``: number of the last event of the run that is stored. Of a log or a manifest that cannot be
    read nothing is said: that is found out when somebody needs it."""
    try:
        seen = see(open_storage(place.directory), place)
        missing = [record for record in seen.view.kept if record.generation >= generation and record.checkpoint not in known]
        events = [(record, _told(record, read_manifest(seen.storage, seen.layout, record))) for record in missing]
    except (StorageError, ConfigError, CheckpointError) as error:
        log.warning("whether a driver that is gone has completed more than it told is not known", reason=str(error))
        return ()
    return tuple(_numbered(events, after))


def _numbered(events: list[tuple[CheckpointRecord, CheckpointCompleted]], after: int) -> Iterator[NumberedEvent]:
    for number, (record, event) in enumerate(events, after + 1):
        yield NumberedEvent(EventNumber(number), record.timestamp_ms, event)


def _told(record: CheckpointRecord, manifest: Manifest) -> CheckpointCompleted:
    """Why it was triggered is known from when it was, mostly; if not, from what kind it is of."""
    measured = manifest.statistics
    return CheckpointCompleted(
        checkpoint=record.checkpoint,
        generation=record.generation,
        trigger="savepoint" if record.is_savepoint else "final" if manifest.drained else "periodic",
        end_to_end_ms=round(measured.end_to_end_ms),
        state_bytes=measured.state_bytes,
        subtasks=tuple(
            AcknowledgedStatistics(SubtaskId(one.chain, one.index), one.statistics)
            for one in sorted(manifest.subtasks, key=lambda one: (one.chain, one.index))
        ),
        checkpointed_bytes=measured.checkpointed_bytes,
    )
