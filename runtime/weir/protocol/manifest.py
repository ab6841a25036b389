"""The manifest: the index of one checkpoint. A restore needs only the manifest and the files that it names.

The manifest is JSON, so any tool can read it. State files are Arrow. Paths are relative to the job's directory, so the
directory can be copied as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import Committable, JsonValue, OperatorSnapshot, Split, StateFile, SubtaskSnapshot

MANIFEST_FORMAT = 4
"""In format 1, each state file is an object. In format 2, small state files share objects (``StateFile.offset``). In format 3, the
splits of a source are in a split list instead of in each manifest. In format 4, a source can have several split lists
(``AssignerState.split_lists``)."""


@dataclass(frozen=True, slots=True)
class SplitListFile:
    """The state file of a split list. The indexes of its splits are ``first`` to ``first + file.rows - 1``."""

    first: int
    file: StateFile

    def contains(self, index: int) -> bool:
        return self.first <= index < self.first + self.file.rows


@dataclass(frozen=True, slots=True)
class AssignerState:
    """The state of one source's split assigner at the trigger of the checkpoint.

    ``split_lists``: the state files with the splits of the source, in the order of assignment. The newest list also contains what
    the source knew when it found these splits (``known`` of ``Source.discover``), so a restore finds all later splits again. A
    list is absent if it is not the newest one and all its splits are finished. Only manifests of formats 1 and 2 have no split
    list. ``next``: the index of the first split in ``split_lists`` that was never assigned. ``pending``: unassigned splits. The
    assigner assigns these splits before the splits from index ``next`` on. In formats 1 and 2, ``pending`` contains all
    unassigned splits. In later formats, ``pending`` contains only splits that were assigned before a restore and are unassigned
    now. ``finished``: the number of finished splits. The snapshots of the source contain the splits that are assigned but not
    finished, with their positions.
    """

    pending: tuple[Split, ...]
    finished: int
    split_lists: tuple[SplitListFile, ...] = ()
    next: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointStatistics:
    """``state_bytes``: size of all state files of the operators. ``checkpointed_bytes``: size of the files that the checkpoint
    wrote.

    ``end_to_end_ms``: from the trigger to the last acknowledgement. ``*_max``: maxima over subtasks.
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
    """The origin of an imported checkpoint. ``directory``: the directory of the original job, including the storage URL."""

    directory: str
    checkpoint: CheckpointId
    manifest_checksum: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """``graph``: the physical graph as JSON, including the logical graph and the max parallelism of each uid.

    ``restored_from``: the checkpoint from which the generation started. Timestamps are the coordinator's wall clock, in ms since
    1970. ``drained``: all input has ended, and all operators have sent the records that they held.
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
    """When the manifest was written, the output of all checkpoints up to ``published_up_to`` was known to be published."""
    format: int = MANIFEST_FORMAT
    imported_from: Origin | None = None
    """The origin of an imported checkpoint, or None if this job took the checkpoint.

    An imported checkpoint contains no sink state.
    """

    def operators(self) -> Iterator[OperatorSnapshot]:
        for subtask in self.subtasks:
            yield from subtask.operators

    def referenced_files(self) -> tuple[StateFile, ...]:
        """Return all state files that a restore needs, including split lists. The files are sorted by path and offset, and each
        file occurs once.

        The returned files must not be deleted while the checkpoint is kept.
        """
        lists = [listed.file for state in self.assigners.values() for listed in state.split_lists]
        files = {(file.path, file.offset): file for operator in self.operators() for file in operator.files}
        files |= {(file.path, file.offset): file for file in lists}
        return tuple(files[location] for location in sorted(files))

    def committables(self) -> tuple[Committable, ...]:
        return tuple(committable for operator in self.operators() for committable in operator.committables)


def count_finished(
    assigners: Mapping[OperatorUid, AssignerState], operators: Iterable[OperatorSnapshot]
) -> dict[OperatorUid, AssignerState]:
    """Return the states with the correct number of finished splits, and without the split lists that no restore needs.

    In ``assigners``, the number ``finished`` is too high: it includes splits that are assigned but not finished. ``operators``
    are the snapshots of the sources. These snapshots contain the splits that are assigned but not finished.
    """
    unfinished: dict[OperatorUid, list[Split]] = {uid: [] for uid in assigners}
    for snapshot in operators:
        if snapshot.operator in unfinished:
            unfinished[snapshot.operator] += snapshot.splits
    return {
        uid: replace(
            state,
            finished=state.finished - len(unfinished[uid]),
            split_lists=_needed_lists(state, (*unfinished[uid], *state.pending)),
        )
        for uid, state in assigners.items()
    }


def _needed_lists(state: AssignerState, begun: Iterable[Split]) -> tuple[SplitListFile, ...]:
    """``begun``: the splits that are assigned or were assigned before a restore, and are not finished."""
    indexes = [split.index for split in begun if split.index is not None]
    return tuple(
        listed
        for listed in state.split_lists
        if listed == state.split_lists[-1]
        or listed.first + listed.file.rows > state.next
        or any(listed.contains(index) for index in indexes)
    )


def epoch_of(committables: Iterable[Committable], *, after: CheckpointId) -> tuple[Committable, ...]:
    """Return the committables that the commit of a checkpoint publishes. ``committables``: all committables in the manifest of
    the checkpoint. ``after``: the newest ancestor before the checkpoint, or 0.

    When a subtask takes a snapshot, the snapshot contains the committables of all epochs that are not known to be published. So
    the commit of checkpoint ``after`` publishes all epochs up to ``after``. The commit of the given checkpoint publishes only the
    later epochs.
    """
    return tuple(committable for committable in committables if committable.checkpoint > after)


def aggregate_statistics(
    subtasks: Iterable[SubtaskSnapshot], *, end_to_end_ms: float, earlier_files: Collection[str] = ()
) -> CheckpointStatistics:
    """``earlier_files``: the paths of files that earlier checkpoints wrote. An incremental checkpoint also refers to
    earlier files."""
    snapshots = tuple(subtasks)
    files = {
        (file.path, file.offset): file.bytes
        for subtask in snapshots
        for operator in subtask.operators
        for file in operator.files
    }  # fmt: skip
    statistics = [subtask.statistics for subtask in snapshots]
    return CheckpointStatistics(
        state_bytes=sum(files.values()),
        checkpointed_bytes=sum(size for (path, _), size in files.items() if path not in earlier_files),
        end_to_end_ms=end_to_end_ms,
        sync_us_max=max((one.sync_us for one in statistics), default=0),
        async_ms_max=max((one.async_ms for one in statistics), default=0.0),
        alignment_ms_max=max((one.alignment_ms for one in statistics), default=0.0),
        start_delay_ms_max=max((one.start_delay_ms for one in statistics), default=0.0),
        longest_batch_ms_max=max((one.longest_batch_ms for one in statistics), default=0.0),
    )


def encode_manifest(manifest: Manifest) -> bytes:
    return codec.dumps(manifest)


def decode_manifest(data: bytes | bytearray | memoryview) -> Manifest:
    """Return the manifest in the newest format. Raises ProtocolError for anything except a complete manifest of a supported
    format."""
    value = codec.parse_json(data, "manifest")
    if not isinstance(value, dict):
        raise ProtocolError("a manifest is a JSON object")
    written = value.get("format")
    if type(written) is int and written > MANIFEST_FORMAT:
        raise ProtocolError(
            f"manifest of format {written}, but this version of Weir reads formats up to {MANIFEST_FORMAT}: upgrade Weir"
        )
    if type(written) is not int or written == MANIFEST_FORMAT:
        return codec.from_json(Manifest, value)
    _convert_assigners(value.get("assigners"))
    manifest = replace(codec.from_json(Manifest, value), format=MANIFEST_FORMAT)
    if written == 3:
        return manifest
    return replace(manifest, assigners=count_finished(manifest.assigners, manifest.operators()))


def _convert_assigners(assigners: object) -> None:
    """Convert the assigner states of older formats. The states of formats 1 and 2 are arguments of ``count_finished``."""
    for state in assigners.values() if isinstance(assigners, dict) else ():
        if isinstance(state, dict):
            split_list = state.pop("split_list", None)
            if split_list is not None:
                state["split_lists"] = [{"first": 0, "file": split_list}]
            state.pop("enumerated", None)  # Older versions wrote this field, always with the value true.
            assigned, finished = state.pop("assigned", None), state.get("finished")
            if isinstance(assigned, list) and isinstance(finished, int):
                state["finished"] = finished + len(assigned)
