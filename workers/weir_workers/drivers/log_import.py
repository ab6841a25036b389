"""Checkpoints that a dead driver completed but did not report, not even in its spool: it was killed between the job log entry,
which counts, and the event. Without this import the history would show a checkpoint as failed that the next driver resumes from.
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
    """Return the missing completions as the driver's next events. ``generation``: the last runtime generation that the driver
    reported; older ones were other drivers'. ``known``: checkpoints known to be completed. ``after``: number of the last stored
    event of the run. Returns nothing if the log or a manifest cannot be read; other code reports that."""
    try:
        seen = open_job_storage(open_storage(place.directory), place)
        missing = [record for record in seen.view.kept if record.generation >= generation and record.checkpoint not in known]
        events = [(record, _completion(record, read_manifest(seen.storage, seen.layout, record))) for record in missing]
    except (StorageError, ConfigError, CheckpointError) as error:
        log.warning("cannot tell whether a dead driver completed more checkpoints than it reported", reason=str(error))
        return ()
    return tuple(_numbered(events, after))


def _numbered(events: list[tuple[CheckpointRecord, CheckpointCompleted]], after: int) -> Iterator[NumberedEvent]:
    for number, (record, event) in enumerate(events, after + 1):
        yield NumberedEvent(EventNumber(number), record.timestamp_ms, event)


def _completion(record: CheckpointRecord, manifest: Manifest) -> CheckpointCompleted:
    """The trigger is not in the manifest, so it is inferred from the kind of checkpoint."""
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
