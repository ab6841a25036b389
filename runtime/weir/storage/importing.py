"""A checkpoint from elsewhere as the beginning of a job, or of a new line of its history.

It is copied whole, under names of the job's own: nothing of where it came from is owned, written to, or needed afterwards. What sinks had
there stays behind: it belongs to the output of that history, and is committed and taken back there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from weir.errors import CheckpointError, ConfigError, Superseded
from weir.graph.logical import LogicalGraph, LogicalOperator, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.joblog import CheckpointImported
from weir.protocol.logview import CheckpointRecord, LogView
from weir.protocol.manifest import Manifest, Origin
from weir.protocol.snapshots import OperatorSnapshot, StateFile
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import JobLog, Lost
from weir.storage.layout import STAGED_KIND, JobLayout
from weir.storage.manifests import read_manifest, write_manifest
from weir.storage.snapshots import ExaminedFiles, StateFiles


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job's checkpoints are."""

    storage: CheckpointStorage
    layout: JobLayout

    @property
    def url(self) -> str:
        """Of the job's own directory."""
        return f"{self.storage.url}/{self.layout.root}".rstrip("/")


@dataclass(frozen=True, slots=True)
class Foreign:
    """A checkpoint to be imported. ``manifest`` as it will be in the job that imports it, but for its number, generation and branch,
    and with the files where they are."""

    place: Place
    record: CheckpointRecord
    manifest: Manifest

    @property
    def name(self) -> str:
        """As ``--from-path`` takes it."""
        return f"{self.place.url}#{self.record.checkpoint}"


@dataclass(frozen=True, slots=True)
class Imported:
    """``checkpoint``: its number in the job that it belongs to now. ``bytes``: copied; 0 if it was there already."""

    checkpoint: CheckpointId
    generation: Generation
    state_bytes: int
    bytes: int


def find_foreign(place: Place, checkpoint: CheckpointId | None, *, job: str) -> Foreign:
    """``checkpoint`` None: the newest one on the line that its job is on. ``job``: the one that is to import it. Only reads.

    Raises CheckpointError if there is none, or it cannot be read; ConfigError if it cannot be imported at all; StorageError.
    """
    view, _ = JobLog(place.storage, place.layout).read()
    record = view.newest if checkpoint is None else view.restore_point(checkpoint)
    if record is None:
        raise CheckpointError(f"{place.url} has no completed checkpoint: is it the directory of a job?")
    manifest = read_manifest(place.storage, place.layout, record)
    graph = codec.from_json(PhysicalGraph, manifest.graph)
    _refuse_staged(place, record, graph)
    origin = Origin(place.url, record.checkpoint, record.manifest_checksum)
    return Foreign(place, record, replace(_without_sinks(manifest, graph, job), imported_from=origin))


def already_imported(target: Place, view: LogView, foreign: Foreign) -> CheckpointRecord | None:
    """What ``target`` would go on with, if that is a copy of this very checkpoint."""
    newest = view.newest
    if newest is None:
        return None
    try:
        manifest = read_manifest(target.storage, target.layout, newest)
    except CheckpointError:
        return None  # a damaged one may be why somebody imports another
    return newest if manifest.imported_from == foreign.manifest.imported_from else None


def import_checkpoint(
    foreign: Foreign, target: Place, *, leaving: Collection[CheckpointId] | None, nonce: str, timestamp_ms: int
) -> Imported:
    """The job at ``target`` goes on from it when it is resumed; what it has completed itself is left behind, still there to go back to.

    ``leaving``: the checkpoints that may be left behind; None: whatever there is. ``nonce``: not used before, such as a UUID. Cut off
    anywhere, nothing has happened to the job, and it may be called again; if it is what the job would go on with already, nothing
    is done. Raises ConfigError if there is more to leave behind, or another process has begun something; CheckpointError if a file
    of it is missing or damaged, or the job's log is; StorageError.
    """
    log = JobLog(target.storage, target.layout)
    view, number = log.read()
    there = already_imported(target, view, foreign)
    if there is not None:
        return Imported(there.checkpoint, there.generation, there.state_bytes, 0)
    left = view.left_behind_by(None)
    unforeseen = [one for one in left if leaving is not None and one not in leaving]
    if unforeseen:
        raise ConfigError(
            f"job '{target.layout.job}' has a history in {target.storage.url} (newest checkpoint {unforeseen[-1]}), which would be left "
            "behind by what begins with a checkpoint from elsewhere: choose an empty checkpoint directory, or agree to that (--yes)"
        )
    checkpoint, generation = view.unseen_checkpoint, view.next_generation
    branch = view.branch_after(None, generation)
    copied = _Copying(foreign, target, generation, checkpoint, nonce)
    manifest = replace(
        foreign.manifest,
        checkpoint=checkpoint,
        generation=generation,
        branch=branch,
        subtasks=tuple(
            replace(subtask, operators=tuple(map(copied.of_operator, subtask.operators))) for subtask in foreign.manifest.subtasks
        ),
        # It committed nothing here, so nobody has to look what that was.
        published_up_to=checkpoint,
    )
    copied.flush()
    written = write_manifest(target.storage, target.layout, manifest)
    state_bytes = manifest.statistics.state_bytes
    entry = CheckpointImported(
        generation, checkpoint, branch, written.path, written.checksum, state_bytes, nonce, timestamp_ms
    )  # fmt: skip
    try:
        lost = isinstance(log.append(entry, at=number), Lost)
    except Superseded:
        lost = True
    if lost:
        raise ConfigError(
            f"another process has written to the log of job '{target.layout.job}' meanwhile: nothing was imported; look whether it runs, "
            "and try again"
        )
    return Imported(checkpoint, generation, state_bytes, copied.bytes)


class _Copying:
    """Each file once, and each compared with what was written before it is. In the order of operators: their files lie together."""

    def __init__(self, foreign: Foreign, target: Place, generation: Generation, checkpoint: CheckpointId, nonce: str) -> None:
        self.bytes = 0
        self._foreign = foreign
        self._examined = ExaminedFiles(foreign.place.storage, foreign.place.layout)
        self._files = StateFiles(
            target.storage, target.layout, generation=generation, checkpoint=checkpoint, attempt=f"import-{nonce}"
        )
        self._copies: dict[tuple[str, int], StateFile] = {}

    def of_operator(self, snapshot: OperatorSnapshot) -> OperatorSnapshot:
        return replace(snapshot, files=tuple(self._copy(file, snapshot) for file in snapshot.files))

    def flush(self) -> None:
        self._files.flush()

    def _copy(self, file: StateFile, snapshot: OperatorSnapshot) -> StateFile:
        found = self._copies.get((file.path, file.offset))
        if found is None:
            data, problem = self._examined.examine(file)
            if data is None:
                raise CheckpointError(
                    f"checkpoint {self._foreign.name} cannot be imported: {self._examined.url_of(file)} {problem}. "
                    "Choose another one; of a job that runs, one that is pinned or a savepoint, which it does not retire meanwhile"
                )
            path, offset = self._files.put((data,), operator=snapshot.operator, subtask=snapshot.subtask)
            found = self._copies[file.path, file.offset] = replace(file, path=path, offset=offset)
            self.bytes += file.bytes
        return found


def _refuse_staged(place: Place, record: CheckpointRecord, graph: PhysicalGraph) -> None:
    for operator in graph.logical.operators:
        config = operator.config
        if operator.kind is OperatorKind.SOURCE and isinstance(config, dict) and config.get("kind") == STAGED_KIND:
            raise ConfigError(
                f"checkpoint {record.checkpoint} of {place.url} reads rows of a Spark query (source '{operator.uid}'), which were staged for "
                "that job and are no part of its checkpoints: another job cannot go on with them"
            )


def _without_sinks(manifest: Manifest, graph: PhysicalGraph, job: str) -> Manifest:
    sinks = {operator.uid for operator in graph.logical.operators if operator.kind is OperatorKind.SINK}
    # A sink that has no state there fits any sink here: which directory it wrote to, say, is of no matter any more.
    operators = tuple(_forgotten(one) if one.uid in sinks else one for one in graph.logical.operators)
    logical = LogicalGraph(job, operators, graph.logical.version)
    return replace(
        manifest,
        job=job,
        restored_from=None,
        is_savepoint=True,
        graph=codec.to_json(replace(graph, logical=logical)),
        subtasks=tuple(
            replace(subtask, operators=tuple(_emptied(one, sinks) for one in subtask.operators)) for subtask in manifest.subtasks
        ),
    )


def _forgotten(sink: LogicalOperator) -> LogicalOperator:
    return replace(sink, stateful=False)


def _emptied(snapshot: OperatorSnapshot, sinks: Collection[OperatorUid]) -> OperatorSnapshot:
    if snapshot.operator not in sinks:
        return snapshot
    return replace(snapshot, files=(), inline=None, committables=())
