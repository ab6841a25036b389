"""The snapshot of a subtask: references to state files, inline state, committables and statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from weir.protocol.channel_state import EdgeSnapshot
from weir.protocol.ids import CheckpointId, Generation, OperatorUid

if TYPE_CHECKING:
    JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"
else:
    JsonValue = Any  # the decoder does not support recursive types


@dataclass(frozen=True, slots=True)
class StateFile:
    """A state file: an object in checkpoint storage, or a part of a shared object.

    ``path`` is the object's path, relative to the job's directory, and ``offset`` is where the file starts in the object.
    ``bytes`` is the size of the file. ``checksum`` is the XXH3-128 of the file, as ``xxh3:<32 hex digits>``.
    """

    path: str
    bytes: int
    checksum: str
    rows: int = 0
    key_groups: tuple[int, int] | None = None
    """First and last key group (both inclusive) in the file. None if the state is not keyed."""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source's input.

    ``position`` is the position after the last emitted record, or None if the split has not been started. ``index`` is the row of
    the split in the source's split list, or None if no split list contains the split.
    """

    id: str
    payload: JsonValue
    position: JsonValue = None
    index: int | None = None

    def without_payload(self) -> Split:
        """Return the split as a snapshot stores it. If a split list contains the split, the result has no payload."""
        return self if self.index is None else replace(self, payload=None)


@dataclass(frozen=True, slots=True)
class Committable:
    """The output that a sink writer staged for one checkpoint. All fields except ``payload`` identify the committable.

    ``attempt``: the attempt within ``generation`` (``Attempt``). Older versions of Weir do not store this field.
    """

    job: str
    sink: OperatorUid
    generation: Generation
    checkpoint: CheckpointId
    writer: int
    payload: JsonValue
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class OperatorSnapshot:
    """The state of one operator in one subtask. A stateless operator has no snapshot."""

    operator: OperatorUid
    subtask: int
    files: tuple[StateFile, ...] = ()
    inline: JsonValue = None
    splits: tuple[Split, ...] = ()
    """The assigned and unfinished splits of a source, with positions."""
    committables: tuple[Committable, ...] = ()
    records: int = 0
    """The number of records that a source has read since its deployment. 0 for other operators."""


@dataclass(frozen=True, slots=True)
class SubtaskStatistics:
    """Durations, measured by local monotonic clocks: ``*_us`` in microseconds, ``*_ms`` in milliseconds."""

    sync_us: int = 0
    sync_cpu_us: int = 0
    sync_core_wait_us: int = 0
    """The part of ``sync_us`` in which the subtask was runnable but waited for a CPU core (Linux; 0 elsewhere)."""
    async_ms: float = 0.0
    """The time from the start of the sync phase until the files of the subtask were durable.

    A slot usually writes the snapshots of all its subtasks together, so their files become durable at the same time.
    """
    alignment_ms: float = 0.0
    start_delay_ms: float = 0.0
    """The time from the trigger until the first barrier reached the subtask."""
    state_bytes: int = 0
    longest_batch_ms: float = 0.0
    """The longest time that one unit of snapshot work blocked the loop."""
    longest_batch_core_wait_ms: float = 0.0
    """The part of ``longest_batch_ms`` in which the loop was runnable but waited for a CPU core."""


@dataclass(frozen=True, slots=True)
class SubtaskSnapshot:
    """The complete snapshot of one subtask. ``inputs`` and ``outputs`` are empty in a manifest, which contains the channels of
    all subtasks by edge."""

    chain: int
    index: int
    operators: tuple[OperatorSnapshot, ...]
    ended: bool
    """All inputs (or splits) have ended, and on_end_of_input has run."""
    statistics: SubtaskStatistics
    inputs: tuple[EdgeSnapshot, ...] = ()
    outputs: tuple[EdgeSnapshot, ...] = ()
    watermark_ms: int | None = None
    """The watermark that the subtask has emitted. None means minus infinity. In snapshots of older versions, None can also
    mean that the watermark was not stored."""
