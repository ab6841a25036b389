"""Import of a checkpoint from another directory. The importing job starts from the imported checkpoint, or continues from it on
a new branch.

The import copies all files under names of the importing job, so the job does not depend on the original directory and never
writes to it. The state of sinks is not imported, because it describes output that only the original job may commit or revoke.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from weir.errors import CheckpointError, ConfigError, Superseded
from weir.graph.logical import LogicalGraph, LogicalOperator, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import CheckpointImported
from weir.protocol.log_view import CheckpointRecord, LogView
from weir.protocol.manifest import AssignerState, Manifest, Origin
from weir.protocol.snapshots import OperatorSnapshot, StateFile
from weir.storage.inspection import read_checkpoint
from weir.storage.job_log import JobLog, NumberTaken
from weir.storage.layout import STAGED_KIND
from weir.storage.location import JobLocation
from weir.storage.manifests import read_channels, read_manifest, write_manifest
from weir.storage.state_files import StateFileChecker, StateFiles


@dataclass(frozen=True, slots=True)
class ExternalCheckpoint:
    """A checkpoint to import. ``manifest`` is already adapted to the importing job, but still has the id, generation and branch
    of the external checkpoint, and names the original files."""

    location: JobLocation
    record: CheckpointRecord
    manifest: Manifest

    @property
    def name(self) -> str:
        """The name of the checkpoint in the form that ``--from-path`` accepts."""
        return f"{self.location.url}#{self.record.checkpoint}"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """An imported checkpoint.

    ``checkpoint`` is the id of the copy in the importing job. ``bytes`` is the number of copied bytes, or 0 if the
    checkpoint was imported before.
    """

    checkpoint: CheckpointId
    generation: Generation
    state_bytes: int
    bytes: int


def find_external_checkpoint(location: JobLocation, checkpoint: CheckpointId | None, *, job: str) -> ExternalCheckpoint:
    """Find the checkpoint to import.

    If ``checkpoint`` is None, choose the newest checkpoint of the current branch. ``job`` is the importing job. Storage is only
    read.

    Raise CheckpointError if the checkpoint does not exist or cannot be read, ConfigError if it cannot be imported, or
    StorageError.
    """
    view, _ = JobLog(location.storage, location.layout).read()
    record = view.newest if checkpoint is None else view.restore_point(checkpoint)
    if record is None:
        raise CheckpointError(f"{location.url} has no completed checkpoint. Check that the path is the directory of a job.")
    manifest = read_checkpoint(location.storage, location.layout, record)
    graph = codec.from_json(PhysicalGraph, manifest.graph)
    _reject_staged(location, record, graph)
    origin = Origin(location.url, record.checkpoint, record.manifest_checksum)
    channels = read_channels(location.storage, location.layout, manifest)
    imported = replace(_without_sinks(manifest, graph, job), imported_from=origin, channels=channels, channel_file=None)
    return ExternalCheckpoint(location, record, imported)


def already_imported(target: JobLocation, view: LogView, external: ExternalCheckpoint) -> CheckpointRecord | None:
    """Return the newest checkpoint of ``target`` if it is a copy of this external checkpoint, else None."""
    newest = view.newest
    if newest is None:
        return None
    try:
        manifest = read_manifest(target.storage, target.layout, newest)
    except CheckpointError:
        return None  # a damaged newest checkpoint can be the reason for the import
    return newest if manifest.imported_from == external.manifest.imported_from else None


def import_checkpoint(
    external: ExternalCheckpoint,
    target: JobLocation,
    *,
    abandonable: Collection[CheckpointId] | None,
    nonce: str,
    timestamp_ms: int,
) -> ImportResult:
    """Import ``external`` into the job at ``target``. When this job resumes, it continues from the imported checkpoint. The
    job's own checkpoints are abandoned, and the user can still return to them.

    ``abandonable`` are the checkpoints that the import is allowed to abandon. None allows all. ``nonce`` is a unique string,
    such as a UUID. An interrupted import has no effect on the job and can be repeated. If the job's newest checkpoint is
    already a copy of ``external``, the import does nothing. Raise ConfigError if the import would abandon other checkpoints, or
    if another process has written to the log. Raise CheckpointError if the job's log or a file of the checkpoint is missing or
    damaged. Also raise StorageError.
    """
    log = JobLog(target.storage, target.layout)
    view, number = log.read()
    existing = already_imported(target, view, external)
    if existing is not None:
        return ImportResult(existing.checkpoint, existing.generation, existing.state_bytes, 0)
    abandoned = view.abandoned_by(None)
    unexpected = [checkpoint for checkpoint in abandoned if abandonable is not None and checkpoint not in abandonable]
    if unexpected:
        raise ConfigError(
            f"Job '{target.layout.job}' has checkpoints in {target.storage.url} (newest: {unexpected[-1]}), which this import would "
            "abandon. Choose an empty checkpoint directory, or confirm with --yes."
        )
    checkpoint, generation = view.next_unused_checkpoint, view.next_generation
    branch = view.branch_after(None, generation)
    copier = _FileCopier(external, target, generation, checkpoint, nonce)
    manifest = replace(
        external.manifest,
        checkpoint=checkpoint,
        generation=generation,
        branch=branch,
        subtasks=tuple(
            replace(subtask, operators=tuple(map(copier.copy_operator, subtask.operators)))
            for subtask in external.manifest.subtasks
        ),
        assigners={uid: copier.copy_split_lists(uid, state) for uid, state in external.manifest.assigners.items()},
        # Mark all output as published, because the imported checkpoint has no output of this job to commit.
        published_up_to=checkpoint,
    )
    copier.flush()
    written = write_manifest(target.storage, target.layout, manifest)
    state_bytes = manifest.statistics.state_bytes
    entry = CheckpointImported(
        generation, checkpoint, branch, written.path, written.checksum, state_bytes, nonce, timestamp_ms
    )  # fmt: skip
    try:
        taken = isinstance(log.append(entry, at=number), NumberTaken)
    except Superseded:
        taken = True
    if taken:
        raise ConfigError(
            f"Cannot import: another process has written to the log of job '{target.layout.job}'. "
            "Check whether the job is running, then retry."
        )
    return ImportResult(checkpoint, generation, state_bytes, copier.bytes)


class _FileCopier:
    """Copies each file once, and verifies the file before it writes the copy. Files are copied in the order of operators, so
    that the files of one operator are adjacent."""

    def __init__(
        self, external: ExternalCheckpoint, target: JobLocation, generation: Generation, checkpoint: CheckpointId, nonce: str
    ) -> None:
        self.bytes = 0
        self._external = external
        self._checker = StateFileChecker(external.location.storage, external.location.layout)
        self._files = StateFiles(
            target.storage, target.layout, generation=generation, checkpoint=checkpoint, attempt=f"import-{nonce}"
        )
        self._copies: dict[tuple[str, int], StateFile] = {}

    def copy_operator(self, snapshot: OperatorSnapshot) -> OperatorSnapshot:
        return replace(snapshot, files=tuple(self._copy(file, snapshot.operator, snapshot.subtask) for file in snapshot.files))

    def copy_split_lists(self, source: OperatorUid, state: AssignerState) -> AssignerState:
        lists = tuple(replace(listed, file=self._copy(listed.file, source, 0)) for listed in state.split_lists)
        return replace(state, split_lists=lists)

    def flush(self) -> None:
        self._files.flush()

    def _copy(self, file: StateFile, operator: OperatorUid, subtask: int) -> StateFile:
        copy = self._copies.get((file.path, file.offset))
        if copy is None:
            data, problem = self._checker.check(file)
            if data is None:
                raise CheckpointError(
                    f"Cannot import checkpoint {self._external.name}: {self._checker.url_of(file)} {problem}. Choose another checkpoint. If "
                    "the original job is running, choose a pinned checkpoint or a savepoint, which that job does not retire."
                )
            path, offset = self._files.put((data,), operator=operator, subtask=subtask)
            copy = self._copies[file.path, file.offset] = replace(file, path=path, offset=offset)
            self.bytes += file.bytes
        return copy


def _reject_staged(location: JobLocation, record: CheckpointRecord, graph: PhysicalGraph) -> None:
    for operator in graph.logical.operators:
        config = operator.config
        if operator.kind is OperatorKind.SOURCE and isinstance(config, dict) and config.get("kind") == STAGED_KIND:
            raise ConfigError(
                f"Cannot import checkpoint {record.checkpoint} of {location.url}: its source '{operator.uid}' reads the "
                "staged rows of a Spark "
                "query, which belong to that job and are not part of its checkpoints."
            )


def _without_sinks(manifest: Manifest, graph: PhysicalGraph, job: str) -> Manifest:
    sinks = {operator.uid for operator in graph.logical.operators if operator.kind is OperatorKind.SINK}
    # A sink without state is compatible with any sink of this job, for example a sink with another output directory.
    operators = tuple(_stateless(operator) if operator.uid in sinks else operator for operator in graph.logical.operators)
    logical = LogicalGraph(job, operators, graph.logical.version)
    return replace(
        manifest,
        job=job,
        restored_from=None,
        is_savepoint=True,
        graph=codec.to_json(replace(graph, logical=logical)),
        subtasks=tuple(
            replace(subtask, operators=tuple(_without_state(operator, sinks) for operator in subtask.operators))
            for subtask in manifest.subtasks
        ),
    )


def _stateless(sink: LogicalOperator) -> LogicalOperator:
    return replace(sink, stateful=False)


def _without_state(snapshot: OperatorSnapshot, sinks: Collection[OperatorUid]) -> OperatorSnapshot:
    if snapshot.operator not in sinks:
        return snapshot
    return replace(snapshot, files=(), inline=None, committables=())
