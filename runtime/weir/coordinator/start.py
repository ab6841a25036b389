"""The start point of a run: no state, the newest checkpoint, or a given checkpoint. Only reads storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.graph.physical import PhysicalGraph
from weir.kernel.restore import RestorePoint
from weir.protocol import codec
from weir.protocol.ids import CheckpointId
from weir.protocol.log_view import CheckpointRecord, LogView
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage
from weir.storage.inspection import verify
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Fresh:
    """Start a new job without state. The start is refused if the job already has a job log."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Start from the newest checkpoint of the current branch, or without state if no checkpoint has completed.

    ``at_least``: a checkpoint that the job is known to have completed. If the log ends before this checkpoint, the start is
    refused: the disk of the directory is possibly not mounted, or the directory contains the log of another job.
    """

    at_least: CheckpointId | None = None


@dataclass(frozen=True, slots=True)
class FromCheckpoint:
    """Start from ``checkpoint``, or without state if it is None. The start revokes the output that was committed after
    ``checkpoint``.

    ``abandonable``: the checkpoints that the user has agreed to abandon. If the start would abandon any other checkpoint,
    it is refused. None: any.
    """

    checkpoint: CheckpointId | None
    abandonable: frozenset[CheckpointId] | None = None


StartMode: TypeAlias = Fresh | Resume | FromCheckpoint


def abandonable_checkpoints(mode: StartMode) -> frozenset[CheckpointId] | None:
    """Return the completed checkpoints that a start in this mode may abandon. None: any."""
    return mode.abandonable if isinstance(mode, FromCheckpoint) else frozenset()


@dataclass(frozen=True, slots=True)
class StartPoint:
    log: JobLog
    view: LogView
    manifest: Manifest | None


def find_start(storage: CheckpointStorage, job: str, mode: StartMode) -> StartPoint:
    """Raises ConfigError if the mode contradicts the job log, StorageError if the log is incomplete (``at_least``), and
    CheckpointError if the checkpoint cannot be restored."""
    log = JobLog(storage, JobLayout(job))
    while True:
        view, number = log.read()
        record = _select(view, storage.url, job, mode)
        try:
            manifest = read_manifest(storage, JobLayout(job), record) if record is not None else None
        except CheckpointError:
            # A running job has possibly retired and deleted the checkpoint since the log was read. In that case, the log has
            # new entries.
            if log.read()[1] == number:
                raise
        else:
            return StartPoint(log, view, manifest)


def verify_rollback(storage: CheckpointStorage, job: str, mode: StartMode) -> None:
    """Read the state files of the checkpoint that ``mode`` rolls back to. Call before the start of the generation, which
    abandons the newer checkpoints.

    A resume abandons no checkpoint, so only the slots verify its files, in parallel, when they restore them. Raises
    CheckpointError if a file is missing or damaged, and StorageError.
    """
    if not isinstance(mode, FromCheckpoint) or mode.checkpoint is None:
        return
    log.info("verifying the files of the checkpoint", checkpoint=mode.checkpoint)
    problems = verify(storage, JobLayout(job), mode.checkpoint).problems
    if not problems:
        return
    first = problems[0]
    count = f" (the first of {len(problems)} problems)" if len(problems) > 1 else ""
    raise CheckpointError(
        f"Cannot restore checkpoint {mode.checkpoint}: {storage.url}/{first.path} {first.problem}{count}. Nothing was changed. "
        "Restore the file from a backup, restore another checkpoint with --from, or continue from the newest one with --resume."
    )


def _select(view: LogView, url: str, job: str, mode: StartMode) -> CheckpointRecord | None:
    match mode:
        case Fresh():
            if view.generation:
                newest = f"newest checkpoint {view.newest.checkpoint}" if view.newest else "no completed checkpoint"
                raise ConfigError(
                    f"job '{job}' already exists in {url} ({newest}): resume it with --resume, roll back with --from ID, "
                    "or use another checkpoint directory"
                )
            return None
        case Resume(at_least):
            if at_least is not None and view.highest_checkpoint < at_least:
                state = f"ends at checkpoint {view.highest_checkpoint}" if view.generation else "does not exist"
                raise StorageError(
                    f"job '{job}' has completed checkpoint {at_least}, but its log in {url} {state}. Check that the "
                    "right directory is "
                    "mounted and was not restored from a backup. The job was not started"
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
