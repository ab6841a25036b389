"""Import of checkpoints that a driver completed but did not report before it died.

A checkpoint is complete when its entry is in the job log. A driver can be killed after it has written the log entry of a checkpoint, but
before it reports the checkpoint to the control plane or in its spool. A worker imports these checkpoints from the job log into the
database. Without the import, the control plane would show a checkpoint as failed although the next driver resumes from this checkpoint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.protocol.events import AcknowledgedStatistics, CheckpointCompleted, NumberedEvent
from weir.protocol.ids import EventNumber, Generation, SubtaskId
from weir.protocol.log_view import CheckpointRecord
from weir.protocol.manifest import Manifest
from weir.storage.location import open_storage
from weir.storage.manifests import read_manifest
from weir_backend.checkpoints.location import CheckpointLocation
from weir_workers.checkpoints.retention_gc import open_job_storage

log = structlog.get_logger(__name__)


def unreported_checkpoints(
    place: CheckpointLocation, generation: Generation, *, known: Collection[int], after: int
) -> tuple[NumberedEvent, ...]:
    """Return the missing completions as events that follow the last stored event of the driver.

    ``generation``: the last runtime generation that the driver reported; older generations belong to other drivers. ``known``:
    the checkpoints that are stored as completed. ``after``: the number of the last stored event of the run. Returns no events if the log or
    a manifest cannot be read. Garbage collection and verification report such a problem."""
    try:
        job = open_job_storage(open_storage(place.directory), place)
        missing = [record for record in job.view.kept if record.generation >= generation and record.checkpoint not in known]
        events = [(record, _completion(record, read_manifest(job.storage, job.layout, record))) for record in missing]
    except (StorageError, ConfigError, CheckpointError) as error:
        log.warning("cannot read which checkpoints a dead driver completed", reason=str(error))
        return ()
    return tuple(_numbered(events, after))


def _numbered(events: list[tuple[CheckpointRecord, CheckpointCompleted]], after: int) -> Iterator[NumberedEvent]:
    for number, (record, event) in enumerate(events, after + 1):
        yield NumberedEvent(EventNumber(number), record.timestamp_ms, event)


def _completion(record: CheckpointRecord, manifest: Manifest) -> CheckpointCompleted:
    """Return the completion event. The manifest does not contain the trigger, so it is inferred from the kind of checkpoint."""
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
