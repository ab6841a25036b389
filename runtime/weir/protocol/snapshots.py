"""What a subtask hands over for a checkpoint: references to files, small inline state, committables, statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from weir.protocol.ids import ChannelId, CheckpointId, Generation, OperatorUid

JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"


@dataclass(frozen=True, slots=True)
class StateFile:
    """One file in checkpoint storage, or one of several in an object that they share.

    ``path``: of the object, relative to the job's root. ``offset``: where in the object the file begins. ``checksum`` is
    ``xxh3:<32 hex digits>`` of the file's ``bytes`` bytes.
    """

    path: str
    bytes: int
    checksum: str
    rows: int = 0
    key_groups: tuple[int, int] | None = None
    """First and last key group (both included) that occur in it; None: not keyed."""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """A piece of a source's input. ``position`` is the position after the last emitted record; None: not begun."""

    id: str
    payload: JsonValue
    position: JsonValue = None


@dataclass(frozen=True, slots=True)
class Committable:
    """What a sink writer staged for one checkpoint. Its first five fields are its identity, kept in the snapshot."""

    job: str
    sink: OperatorUid
    generation: Generation
    checkpoint: CheckpointId
    writer: int
    payload: JsonValue


@dataclass(frozen=True, slots=True)
class OperatorSnapshot:
    """State of one operator in one subtask. A stateless operator has none."""

    operator: OperatorUid
    subtask: int
    files: tuple[StateFile, ...] = ()
    inline: JsonValue = None
    splits: tuple[Split, ...] = ()
    """Of a source: assigned and unfinished, with positions."""
    committables: tuple[Committable, ...] = ()


@dataclass(frozen=True, slots=True)
class ChannelSnapshot:
    """One end of one channel at the snapshot. ``watermark_ms`` None: minus infinity (inputs only)."""

    channel: ChannelId
    sequence: int
    """Number of the next data frame to be sent (outputs) or to be consumed (inputs)."""
    watermark_ms: int | None = None
    idle: bool = False
    ended: bool = False


@dataclass(frozen=True, slots=True)
class SubtaskStatistics:
    """Durations by local monotonic clocks. ``*_us`` microseconds, ``*_ms`` milliseconds."""

    sync_us: int = 0
    sync_cpu_us: int = 0
    sync_core_wait_us: int = 0
    """Of ``sync_us``, how long the subtask was ready to go on and the machine had no core for it (Linux; elsewhere 0)."""
    async_ms: float = 0.0
    """From the beginning of the sync phase until the subtask's files were durable; the slot acknowledges all of its subtasks together."""
    alignment_ms: float = 0.0
    start_delay_ms: float = 0.0
    """From the moment when the slot was told to trigger until the first barrier reached the subtask."""
    state_bytes: int = 0
    longest_batch_ms: float = 0.0
    """The longest time that one unit of snapshot work (gathering) held up the loop."""
    longest_batch_core_wait_ms: float = 0.0
    """Of that, how long the loop was ready to go on and the machine had no core for it."""


@dataclass(frozen=True, slots=True)
class SubtaskSnapshot:
    """All that one subtask hands over."""

    chain: int
    index: int
    operators: tuple[OperatorSnapshot, ...]
    inputs: tuple[ChannelSnapshot, ...]
    outputs: tuple[ChannelSnapshot, ...]
    ended: bool
    """All its inputs (or splits) had ended and on_end_of_input had run."""
    statistics: SubtaskStatistics
