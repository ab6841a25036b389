"""Control messages between coordinator and slots. JSON on an authenticated connection; order kept per slot.

That order matters: an ``AssignSplit`` sent before ``TriggerCheckpoint(c)`` arrives before it, so the
assigner's snapshot taken at the trigger and the source's own agree on who has the split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.ids import ChannelId, CheckpointId, Generation, OperatorUid, SlotIncarnation, SlotIndex, SubtaskId
from weir.protocol.snapshots import JsonValue, OperatorSnapshot, Split, SubtaskSnapshot

# ---- slot to coordinator ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """First message of a slot. ``task`` is the index of the Spark task, a wish for a slot index."""

    incarnation: SlotIncarnation
    task: int
    host: str
    data_port: int
    pid: int
    executor: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Sent beside the loop. ``turns`` grows with every turn of the loop: standing still means it is stuck."""

    turns: int


@dataclass(frozen=True, slots=True)
class Deployed:
    """State restored, channels open: ready to start."""

    generation: Generation


@dataclass(frozen=True, slots=True)
class Acknowledge:
    generation: Generation
    checkpoint: CheckpointId
    snapshot: SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class Decline:
    """The asynchronous phase failed, or the subtask cannot take part."""

    generation: Generation
    checkpoint: CheckpointId
    subtask: SubtaskId
    reason: str


@dataclass(frozen=True, slots=True)
class SubtaskFailed:
    """``kind`` is the class name in weir.errors. ``restartable`` False: trying again cannot help."""

    generation: Generation
    subtask: SubtaskId | None
    kind: str
    reason: str
    restartable: bool


@dataclass(frozen=True, slots=True)
class SubtaskEnded:
    """Every input has ended and all output is sent; it goes on answering barriers."""

    generation: Generation
    subtask: SubtaskId


@dataclass(frozen=True, slots=True)
class RequestSplit:
    generation: Generation
    operator: OperatorUid
    subtask: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Everything of the generation is gone from this slot."""

    generation: Generation


@dataclass(frozen=True, slots=True)
class SubtaskMetrics:
    """Counters since the deployment. The four times add up to the subtask's age."""

    chain: int
    index: int
    records_in: int
    records_out: int
    bytes_in: int
    bytes_out: int
    busy_us: int
    idle_us: int
    backpressured_us: int
    queued_us: int


@dataclass(frozen=True, slots=True)
class SlotMetrics:
    generation: Generation
    slot: SlotIndex
    rss_bytes: int
    loop_busy_us: int
    subtasks: tuple[SubtaskMetrics, ...]
    gauges: dict[str, JsonValue]


# ---- coordinator to slot ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Peer:
    slot: SlotIndex
    host: str
    data_port: int


@dataclass(frozen=True, slots=True)
class RestoredOperator:
    """What subtask ``subtask`` of ``operator`` gets back: all snapshots with something of its key groups."""

    operator: OperatorUid
    subtask: int
    snapshots: tuple[OperatorSnapshot, ...]


@dataclass(frozen=True, slots=True)
class RestoredChannel:
    channel: ChannelId
    sequence: int
    watermark_ms: int | None
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Deploy:
    """Build the subtasks of ``slot``, restore their state, open channels to ``peers``, answer Deployed."""

    generation: Generation
    slot: SlotIndex
    graph: JsonValue
    peers: tuple[Peer, ...]
    restored_checkpoint: CheckpointId | None
    operators: tuple[RestoredOperator, ...]
    channels: tuple[RestoredChannel, ...]
    ended: tuple[SubtaskId, ...]
    """Subtasks whose on_end_of_input ran before the snapshot; it does not run again."""
    next_checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class Start:
    generation: Generation


@dataclass(frozen=True, slots=True)
class TriggerCheckpoint:
    generation: Generation
    checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    generation: Generation
    checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class CheckpointAborted:
    generation: Generation
    checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class AssignSplit:
    """``split`` None: there will be no more. ``precedes`` is the next checkpoint that will be triggered."""

    generation: Generation
    operator: OperatorUid
    subtask: int
    split: Split | None
    precedes: CheckpointId


@dataclass(frozen=True, slots=True)
class Cancel:
    """Drop everything up to and with this generation, close its channels, answer Cancelled."""

    generation: Generation


@dataclass(frozen=True, slots=True)
class Lease:
    """Answer to a heartbeat. A slot that has had none for ``lease_ms`` stops itself."""

    lease_ms: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The job is over (or this slot is not wanted): leave the loop and let the Spark task end."""

    reason: str


FromSlot: TypeAlias = (
    Register
    | Heartbeat
    | Deployed
    | Acknowledge
    | Decline
    | SubtaskFailed
    | SubtaskEnded
    | RequestSplit
    | Cancelled
    | SlotMetrics
)
ToSlot: TypeAlias = (
    Deploy | Start | TriggerCheckpoint | CheckpointCompleted | CheckpointAborted | AssignSplit | Cancel | Lease | Stop
)

_FROM_SLOT: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Register, Heartbeat, Deployed, Acknowledge, Decline, SubtaskFailed, SubtaskEnded, RequestSplit, Cancelled, SlotMetrics,
    )
}  # fmt: skip
_TO_SLOT: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Deploy, Start, TriggerCheckpoint, CheckpointCompleted, CheckpointAborted, AssignSplit, Cancel, Lease, Stop,
    )
}  # fmt: skip


def encode(message: FromSlot | ToSlot) -> bytes:
    """``["Name", {fields}]`` as UTF-8 JSON."""
    return codec.dumps([type(message).__name__, message])


def _decode(kinds: dict[str, type], data: bytes | bytearray | memoryview) -> object:
    value = codec.parse(data, "control message")
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and value[0] in kinds):
        raise ProtocolError("control message of unknown kind")
    return codec.from_json(kinds[value[0]], value[1])


def decode_from_slot(data: bytes | bytearray | memoryview) -> FromSlot:
    return _decode(_FROM_SLOT, data)  # type: ignore[return-value]  # the table holds just these


def decode_to_slot(data: bytes | bytearray | memoryview) -> ToSlot:
    return _decode(_TO_SLOT, data)  # type: ignore[return-value]  # the table holds just these
