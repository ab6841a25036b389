"""The manifest: the index of one checkpoint. A restore needs only the manifest and the files that it names.

The manifest is JSON, so any tool can read it. State files are Arrow. Paths are relative to the job's directory, so the
directory can be copied as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.channel_state import NO_WATERMARK, EdgeChannels, EdgeSnapshot, PackedInts, assemble
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import Committable, JsonValue, OperatorSnapshot, Split, StateFile, SubtaskSnapshot

MANIFEST_FORMAT = 4
"""In format 1, each state file is an object. In format 2, small state files share objects (``StateFile.offset``). In format 3, the
splits of a source are in a split list instead of in each manifest. In format 4, a source can have several split lists
(``AssignerState.split_lists``) and has its number of records, and the channels are in arrays (``Manifest.channels``) instead of in
one object for each end of a channel."""


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
    finished, with their positions. ``records``: the number of records that the source had read up to the checkpoint, in all
    generations of the branch. Formats 1 to 3 do not contain this number. A job that restores such a checkpoint counts from 0.
    """

    pending: tuple[Split, ...]
    finished: int
    split_lists: tuple[SplitListFile, ...] = ()
    next: int = 0
    records: int = 0


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
    channels: tuple[EdgeChannels, ...] = ()
    """The channels of each edge. If ``channel_file`` is not None, the arrays are in that file (``attach``)."""
    channel_file: StateFile | None = None
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
        """Return all files that a restore needs: state files, split lists and the channel file. The files are sorted by path and
        offset, and each file occurs once.

        The returned files must not be deleted while the checkpoint is kept.
        """
        lists = [listed.file for state in self.assigners.values() for listed in state.split_lists]
        files = {(file.path, file.offset): file for operator in self.operators() for file in operator.files}
        if self.channel_file is not None:
            lists.append(self.channel_file)
        files |= {(file.path, file.offset): file for file in lists}
        return tuple(files[location] for location in sorted(files))

    def committables(self) -> tuple[Committable, ...]:
        return tuple(committable for operator in self.operators() for committable in operator.committables)


def count_finished(
    assigners: Mapping[OperatorUid, AssignerState], operators: Iterable[OperatorSnapshot]
) -> dict[OperatorUid, AssignerState]:
    """Return the states with the correct numbers of finished splits and of records, and without the split lists that no restore
    needs.

    In ``assigners``, the number ``finished`` is too high: it includes splits that are assigned but not finished. The number
    ``records`` is that of the restored checkpoint. ``operators`` are the snapshots of the sources. These snapshots contain the
    splits that are assigned but not finished, and the records that were read since the restore.
    """
    unfinished: dict[OperatorUid, list[Split]] = {uid: [] for uid in assigners}
    records = {uid: state.records for uid, state in assigners.items()}
    for snapshot in operators:
        if snapshot.operator in unfinished:
            unfinished[snapshot.operator] += snapshot.splits
            records[snapshot.operator] += snapshot.records
    return {
        uid: replace(
            state,
            finished=state.finished - len(unfinished[uid]),
            split_lists=_needed_lists(state, (*unfinished[uid], *state.pending)),
            records=records[uid],
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
    earlier = written if type(written) is int else MANIFEST_FORMAT
    if earlier < 4:
        _convert_assigners(value.get("assigners"))
        _convert_channels(value.get("subtasks"))
    manifest = codec.from_json(Manifest, value)
    if earlier < 4:
        manifest = with_channels(manifest)
    if earlier < 3:
        manifest = replace(manifest, assigners=count_finished(manifest.assigners, manifest.operators()))
    return replace(manifest, format=MANIFEST_FORMAT)


def with_channels(manifest: Manifest) -> Manifest:
    """Return a manifest whose channels are those in the snapshots of its subtasks. Raises ProtocolError if the snapshots are
    inconsistent."""
    channels = assemble(
        [(one.index, one.outputs) for one in manifest.subtasks], [(one.index, one.inputs) for one in manifest.subtasks]
    )
    return replace(manifest, channels=channels, subtasks=tuple(without_channels(manifest.subtasks)))


def without_channels(subtasks: Iterable[SubtaskSnapshot]) -> Iterator[SubtaskSnapshot]:
    return (replace(one, inputs=(), outputs=()) for one in subtasks)


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


def _convert_channels(subtasks: object) -> None:
    """Convert the ends of channels in formats 1 to 3 to the JSON form of ``EdgeSnapshot``. Leave invalid values unchanged, so that
    the decoder reports them."""
    for subtask in subtasks if isinstance(subtasks, list) else ():
        for name in ("inputs", "outputs"):
            ends = subtask.get(name) if isinstance(subtask, dict) else None
            try:
                by_edge: dict[int, list[Any]] = {}
                for end in sorted(ends, key=lambda end: end["channel"]):  # type: ignore[arg-type]  # checked by the try
                    by_edge.setdefault(end["channel"][0], []).append(end)
                subtask[name] = [codec.to_json(_edge_snapshot(edge, ends)) for edge, ends in by_edge.items()]
            except (KeyError, TypeError, IndexError):
                continue


def _edge_snapshot(edge: int, ends: Sequence[dict[str, Any]]) -> EdgeSnapshot:
    watermarks_ms = [end.get("watermark_ms") for end in ends]
    idle, ended = ([int(end.get(name, False)) for end in ends] for name in ("idle", "ended"))
    return EdgeSnapshot(
        edge,
        PackedInts.pack([end["sequence"] for end in ends]),
        PackedInts.pack([NO_WATERMARK if one is None else one for one in watermarks_ms])
        if any(one is not None for one in watermarks_ms)
        else None,
        PackedInts.pack(idle) if any(idle) else None,
        PackedInts.pack(ended) if any(ended) else None,
    )
