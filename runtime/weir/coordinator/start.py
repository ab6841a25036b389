"""The start point of a run: no state, the newest checkpoint, or a given checkpoint. The module also contains the checks before
the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

import structlog

from weir.connectors.base import Committer
from weir.coordinator.sinks import not_reinstated, not_revoked
from weir.errors import CheckpointError, ConfigError, StorageError
from weir.graph.physical import PhysicalGraph
from weir.kernel.restore import RestorePoint
from weir.protocol import codec
from weir.protocol.ids import Attempt, CheckpointId, Generation, OperatorUid
from weir.protocol.log_view import SKIPPED_IDS_MAX, CheckpointRecord, LogView
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage
from weir.storage.inspection import verify
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_channels, read_manifest

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Fresh:
    """Start a new job without state. If the job already has a job log, the start is refused."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Start from the newest checkpoint of the current branch, or without state if no checkpoint has completed.

    ``at_least``: a checkpoint that the job is known to have completed. If the log ends before this checkpoint, the start is
    refused. In this case, the disk of the directory is possibly not mounted, or the directory contains the log of another job.
    ``older_allowed``: accept a log that ends before ``at_least``, for example the log in a restored backup. A start without a log
    is still refused.
    """

    at_least: CheckpointId | None = None
    older_allowed: bool = False


@dataclass(frozen=True, slots=True)
class FromCheckpoint:
    """Start from ``checkpoint``, or without state if ``checkpoint`` is None. The start revokes all output that was committed
    after ``checkpoint``.

    ``abandonable``: the checkpoints that the user has agreed to abandon. If the start would abandon any other checkpoint, the
    start is refused. None: the start may abandon any checkpoint. ``verified``: True if an import has copied the files of the
    checkpoint and has verified them.
    """

    checkpoint: CheckpointId | None
    abandonable: frozenset[CheckpointId] | None = None
    verified: bool = False


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
            manifest = _read_complete(storage, JobLayout(job), record) if record is not None else None
        except CheckpointError:
            # A running job may have retired and deleted the checkpoint after the log was read. In this case, the log has new
            # entries.
            if log.read()[1] == number:
                raise
        else:
            return StartPoint(log, view, manifest)


def _read_complete(storage: CheckpointStorage, layout: JobLayout, record: CheckpointRecord) -> Manifest:
    manifest = read_manifest(storage, layout, record)
    return replace(manifest, channels=read_channels(storage, layout, manifest))


def verify_rollback(storage: CheckpointStorage, job: str, mode: StartMode) -> None:
    """Verify the state files of the checkpoint that ``mode`` rolls back to. Call this function before the generation starts,
    because the start abandons the newer checkpoints.

    For a resume, this function does nothing, because a resume abandons no checkpoint. In a resume, the slots verify the files in
    parallel during the restore. Raises StorageError, or CheckpointError if a file is missing or damaged.
    """
    if not isinstance(mode, FromCheckpoint) or mode.checkpoint is None or mode.verified:
        return
    log.info("verifying the files of the checkpoint", checkpoint=mode.checkpoint)
    problems = verify(storage, JobLayout(job), mode.checkpoint).problems
    if not problems:
        return
    first = problems[0]
    count = f" (the first of {len(problems)} problems)" if len(problems) > 1 else ""
    raise CheckpointError(
        f"Cannot restore checkpoint {mode.checkpoint}: {storage.url}/{first.path} {first.problem}{count}. Nothing was changed. "
        "Restore the file from a backup, restore another checkpoint with --from, or continue from the newest checkpoint with --resume."
    )


@dataclass(frozen=True, slots=True)
class FirstNumbers:
    """The lowest generation and the lowest checkpoint id that a run may use. ``notes``: sentences for the user."""

    generation: Generation = Generation(1)
    checkpoint: CheckpointId = CheckpointId(1)
    notes: tuple[str, ...] = ()


def check_published_output(
    storage: CheckpointStorage, job: str, committers: Mapping[OperatorUid, Committer], *, revoke_unknown: bool
) -> FirstNumbers:
    """Compare the published output of the sinks with the job log. Call this function before the generation starts. If the log is
    older than the output, the generation would publish the same records again.

    Published output is unknown if its generation is higher than the newest generation in the log, or if its checkpoint id is
    higher than the highest one in the log. With ``revoke_unknown``, this function revokes unknown output. If an unknown
    generation has revoked output of the log's current branch, this function reinstates that output. The returned generation and
    checkpoint id are higher than those of all unknown output, because numbers must never be reused. The log does not contain the
    new generation yet. If this process fails before it starts the generation, the next start finds the unknown output again.

    Raises ConfigError, and changes nothing, in two cases: there is unknown output and ``revoke_unknown`` is False, or a sink with
    unknown output is not revocable. Raises SinkError, StorageError.
    """
    job_log = JobLog(storage, JobLayout(job))
    history = job_log.read()[0].history or None
    found = {uid: committer.published(job=job, sink=uid, history=history) or frozenset() for uid, committer in committers.items()}
    # Read the log after the listing, because an older driver that still runs can publish output in the meantime.
    view, _ = job_log.read()
    unknown = {uid: [pair for pair in sorted(pairs) if _is_unknown(view, *pair)] for uid, pairs in found.items()}
    unknown = {uid: pairs for uid, pairs in unknown.items() if pairs}
    if not view.generation or not unknown:
        return FirstNumbers()  # a new job log cannot own existing output (see ``Committer.claim``)
    listed = "; ".join(f"sink '{uid}' in {committers[uid].target}: {_numbers(pairs)}" for uid, pairs in unknown.items())
    irrevocable = [uid for uid in unknown if not committers[uid].revocable]
    if irrevocable or not revoke_unknown:
        newest = f"checkpoint {view.newest.checkpoint}" if view.newest else "no checkpoint"
        again = f"all records after {newest}" if view.newest else "all records"
        other = (
            f"The option --revoke-unknown-output does not help, because sink '{irrevocable[0]}' cannot revoke output."
            if irrevocable
            else "If this directory is lost, start the job again with --revoke-unknown-output. Weir then hides this output from readers, moves "
            f"the output to the directory _weir of the sink, and processes {again} again."
        )
        raise ConfigError(
            f"Cannot start job '{job}': its sinks have published output that the job log in {storage.url} does not contain ({listed}). "
            f"The log ends at generation {view.generation} with {newest}, so it is older than the output, for example "
            "because a backup was restored. The job would publish the same records twice. Nothing was changed. Restore the newer "
            f"checkpoint directory. {other}"
        )
    generation = Generation(max(generation for pairs in unknown.values() for generation, _ in [*pairs, (view.generation, 0)]) + 1)
    checkpoint = max(checkpoint for pairs in unknown.values() for _, checkpoint in pairs)
    known = {Generation(number): view.highest_checkpoint for number in range(1, view.generation + 1)}
    current = view.ancestry_limits(view.newest.checkpoint if view.newest else None)
    notes = [f"Revoked published output that the job log does not contain ({listed})."]
    for uid in unknown:
        committer, branch = committers[uid], f"unknown-g{generation}"
        missing = committer.revoke({}, ancestry=known, branch=branch, before=Attempt(generation))
        notes += not_revoked(uid, committer, missing)
        # An unknown generation may have rolled the job back, and may have revoked output that is current in this log.
        missing = committer.reinstate(ancestry=current, branch=branch, before=Attempt(generation))
        notes += not_reinstated(uid, committer, missing)
    for note in notes:
        log.warning(note)
    return FirstNumbers(generation, CheckpointId(checkpoint + 1 + SKIPPED_IDS_MAX), tuple(notes))


def skip_known_checkpoints(first: FirstNumbers, mode: StartMode) -> FirstNumbers:
    """Return ``first``, with its checkpoint id raised above ``mode.at_least``. If the log ends before ``at_least``, the job has
    already used ids that the log does not contain. Checkpoint ids must never repeat."""
    if not isinstance(mode, Resume) or mode.at_least is None:
        return first
    return replace(first, checkpoint=CheckpointId(max(first.checkpoint, mode.at_least + 1 + SKIPPED_IDS_MAX)))


def _is_unknown(view: LogView, generation: Generation, checkpoint: CheckpointId) -> bool:
    return generation > view.generation or checkpoint > view.highest_checkpoint


def _numbers(pairs: Sequence[tuple[Generation, CheckpointId]]) -> str:
    """Describe unknown output, for example ``checkpoints 6 to 12 of generations 1 to 2``."""
    generations = _range("generation", sorted({generation for generation, _ in pairs}))
    checkpoints = sorted({checkpoint for _, checkpoint in pairs if checkpoint})
    return f"{_range('checkpoint', checkpoints)} of {generations}" if checkpoints else generations


def _range(noun: str, numbers: Sequence[int]) -> str:
    return f"{noun} {numbers[0]}" if len(numbers) == 1 else f"{noun}s {numbers[0]} to {numbers[-1]}"


def _select(view: LogView, url: str, job: str, mode: StartMode) -> CheckpointRecord | None:
    match mode:
        case Fresh():
            if view.generation:
                newest = f"newest checkpoint {view.newest.checkpoint}" if view.newest else "no completed checkpoint"
                raise ConfigError(
                    f"job '{job}' already exists in {url} ({newest}): resume it with --resume, roll back with --from ID, "
                    "or use another checkpoint directory (in Python: resume=True, from_checkpoint=ID)"
                )
            return None
        case Resume(at_least, older_allowed):
            if at_least is not None and view.highest_checkpoint < at_least and not (older_allowed and view.generation):
                state = f"ends at checkpoint {view.highest_checkpoint}" if view.generation else "does not exist"
                older = (
                    "To continue from an older backup, start the job again with --revoke-unknown-output. Weir then hides "
                    "published output that this log does not contain. "
                )
                raise StorageError(
                    f"job '{job}' has completed checkpoint {at_least}, but its log in {url} {state}. Check that the "
                    "right directory is "
                    f"mounted and was not restored from a backup. {older if view.generation else ''}The job was not started"
                )
            return view.newest
        case FromCheckpoint(checkpoint):
            return view.restore_point(checkpoint) if checkpoint is not None else None
        case _:
            assert_never(mode)


def restore_point(manifest: Manifest) -> RestorePoint:
    """``manifest`` is that of ``find_start``, whose channels are complete."""
    return RestorePoint(
        checkpoint=manifest.checkpoint,
        graph=codec.from_json(PhysicalGraph, manifest.graph),
        subtasks=manifest.subtasks,
        assigners=manifest.assigners,
        channels=manifest.channels,
    )
