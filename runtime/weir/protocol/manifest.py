"""The manifest: the index of one checkpoint. With it and the files it names a job can be restored, and nothing else is needed.

It is JSON, so that any tool can read it; state files are Arrow. Paths in it are relative to the job's
directory, so that the directory can be copied as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import Committable, JsonValue, OperatorSnapshot, Split, StateFile, SubtaskSnapshot

MANIFEST_FORMAT = 2
"""1: each state file an object of its own. 2: small ones share objects (``StateFile.offset``)."""


@dataclass(frozen=True, slots=True)
class AssignerState:
    """The split assigner of one source at the moment the checkpoint was triggered.

    ``pending``: splits nobody has; ``assigned``: ids handed out and not known to be finished (those in work
    are in the source's own snapshot, with positions); ``finished``: how many are. ``enumerated`` False: the
    input has not been listed yet, so no pending split does not mean that there is no input.
    """

    pending: tuple[Split, ...]
    assigned: tuple[str, ...]
    finished: int
    enumerated: bool = True


@dataclass(frozen=True, slots=True)
class CheckpointStatistics:
    """Of the whole checkpoint. ``state_bytes``: all files it needs; ``checkpointed_bytes``: those it wrote itself.

    ``end_to_end_ms`` runs from the trigger to the last acknowledgement. ``*_max`` are over subtasks.
    """

    state_bytes: int = 0
    checkpointed_bytes: int = 0
    end_to_end_ms: float = 0.0
    sync_us_max: int = 0
    async_ms_max: float = 0.0
    alignment_ms_max: float = 0.0
    start_delay_ms_max: float = 0.0
    longest_batch_ms_max: float = 0.0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an imported checkpoint was copied from, as it was there: ``directory`` is that of its job, with the storage's URL."""

    directory: str
    checkpoint: CheckpointId
    manifest_checksum: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """``graph`` is ``codec.to_json`` of the physical graph, the logical one and max_parallelism per uid included.

    ``branch`` is the line of history it belongs to, ``restored_from`` what its generation began with.
    Timestamps are of the coordinator's wall clock, in ms since 1970. ``drained``: the last checkpoint of a
    job that ended for good, so that its state holds nothing that is still to come.
    """

    job: str
    checkpoint: CheckpointId
    generation: Generation
    branch: str
    restored_from: CheckpointId | None
    trigger_timestamp_ms: int
    completed_timestamp_ms: int
    is_savepoint: bool
    drained: bool
    graph: JsonValue
    subtasks: tuple[SubtaskSnapshot, ...]
    assigners: dict[OperatorUid, AssignerState]
    statistics: CheckpointStatistics
    published_up_to: CheckpointId = CheckpointId(0)
    """What checkpoints up to this one committed was known to be published when this was written: nobody need look again."""
    format: int = MANIFEST_FORMAT
    imported_from: Origin | None = None
    """Its sinks were those of another history, so nothing of theirs is in it. None: it was taken of this job."""

    def operators(self) -> Iterator[OperatorSnapshot]:
        for subtask in self.subtasks:
            yield from subtask.operators

    def referenced_files(self) -> tuple[StateFile, ...]:
        """Every state file a restore needs, each once, by path and offset. What it names must never be deleted while it is restorable."""
        files = {(file.path, file.offset): file for operator in self.operators() for file in operator.files}
        return tuple(files[place] for place in sorted(files))

    def committables(self) -> tuple[Committable, ...]:
        return tuple(committable for operator in self.operators() for committable in operator.committables)


def summarise(
    subtasks: Iterable[SubtaskSnapshot], *, end_to_end_ms: float, earlier_files: Collection[str] = ()
) -> CheckpointStatistics:
    """``earlier_files``: paths that an earlier checkpoint wrote and this one only refers to (incremental ones)."""
    snapshots = tuple(subtasks)
    files = {
        (file.path, file.offset): file.bytes
        for subtask in snapshots
        for operator in subtask.operators
        for file in operator.files
    }  # fmt: skip
    measured = [subtask.statistics for subtask in snapshots]
    return CheckpointStatistics(
        state_bytes=sum(files.values()),
        checkpointed_bytes=sum(size for (path, _), size in files.items() if path not in earlier_files),
        end_to_end_ms=end_to_end_ms,
        sync_us_max=max((one.sync_us for one in measured), default=0),
        async_ms_max=max((one.async_ms for one in measured), default=0.0),
        alignment_ms_max=max((one.alignment_ms for one in measured), default=0.0),
        start_delay_ms_max=max((one.start_delay_ms for one in measured), default=0.0),
        longest_batch_ms_max=max((one.longest_batch_ms for one in measured), default=0.0),
    )


def encode_manifest(manifest: Manifest) -> bytes:
    return codec.dumps(manifest)


def decode_manifest(data: bytes | bytearray | memoryview) -> Manifest:
    """Raises ProtocolError for anything that is not a whole manifest of a format this version reads."""
    value = codec.parse(data, "manifest")
    written = value.get("format") if isinstance(value, dict) else None
    if type(written) is int and written > MANIFEST_FORMAT:
        raise ProtocolError(f"manifest of format {written}, this version of Weir reads up to {MANIFEST_FORMAT}: upgrade Weir")
    return codec.from_json(Manifest, value)
