"""Where a run begins: from nothing, with the newest checkpoint, or with a chosen one. Reads, decides nothing irrevocable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.graph.physical import PhysicalGraph
from weir.kernel.restore import RestorePoint
from weir.protocol import codec
from weir.protocol.ids import CheckpointId
from weir.protocol.logview import CheckpointRecord, LogView
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest


@dataclass(frozen=True, slots=True)
class Fresh:
    """From nothing. Refused where the job has a history."""


@dataclass(frozen=True, slots=True)
class Resume:
    """With the newest checkpoint of the current branch; from nothing if there is none.

    ``at_least``: somebody knows that the job has come as far as this one. A log that does not is another one, or it is not there (a disk that
    is not mounted): nothing is begun then.
    """

    at_least: CheckpointId | None = None


@dataclass(frozen=True, slots=True)
class FromCheckpoint:
    """With a chosen one, or (None) from the beginning, with no state at all; what was committed after it is abandoned.

    ``leaving``: the checkpoints that the user has agreed to leave behind; if meanwhile there are others, nothing is started.
    None: whatever there is.
    """

    checkpoint: CheckpointId | None
    leaving: frozenset[CheckpointId] | None = None


StartMode: TypeAlias = Fresh | Resume | FromCheckpoint


def leaves_behind(mode: StartMode) -> frozenset[CheckpointId] | None:
    """The completed checkpoints that a start in this mode may leave behind. None: whatever there is."""
    return mode.leaving if isinstance(mode, FromCheckpoint) else frozenset()


@dataclass(frozen=True, slots=True)
class StartPoint:
    log: JobLog
    view: LogView
    manifest: Manifest | None


def find_start(storage: CheckpointStorage, job: str, mode: StartMode) -> StartPoint:
    """Raises ConfigError if the mode does not fit the job's history, StorageError if that does not reach as far as it is known to, and
    CheckpointError for a checkpoint that cannot be used."""
    log = JobLog(storage, JobLayout(job))
    while True:
        view, number = log.read()
        record = _choose(view, storage.url, job, mode)
        try:
            manifest = read_manifest(storage, JobLayout(job), record) if record is not None else None
        except CheckpointError:
            # A run that is still alive may have retired and deleted it since the log was read. Then the log has grown.
            if log.read()[1] == number:
                raise
        else:
            return StartPoint(log, view, manifest)


def _choose(view: LogView, url: str, job: str, mode: StartMode) -> CheckpointRecord | None:
    match mode:
        case Fresh():
            if view.generation:
                newest = f"newest checkpoint {view.newest.checkpoint}" if view.newest else "no completed checkpoint"
                raise ConfigError(
                    f"job '{job}' has a history in {url} ({newest}): go on with --resume, go back with --from ID, "
                    "or choose another checkpoint directory"
                )
            return None
        case Resume(at_least):
            if at_least is not None and view.highest_checkpoint < at_least:
                there = f"ends at checkpoint {view.highest_checkpoint}" if view.generation else "is not there"
                raise StorageError(
                    f"job '{job}' has completed checkpoint {at_least}, and its log in {url} {there}: is the right directory mounted, "
                    "was it set back to a backup? Nothing was begun"
                )
            return view.newest
        case FromCheckpoint(checkpoint):
            return view.restore_point(checkpoint) if checkpoint is not None else None
        case _:
            assert_never(mode)


def restore_point(manifest: Manifest) -> RestorePoint:
    return RestorePoint(
        checkpoint=manifest.checkpoint,
        graph=codec.from_json(PhysicalGraph, manifest.graph),
        subtasks=manifest.subtasks,
        assigners=manifest.assigners,
    )
