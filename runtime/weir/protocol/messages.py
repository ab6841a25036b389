"""Control messages between the coordinator and the slots: JSON on an authenticated connection, in order for each slot.

The order matters: an ``AssignSplit`` that is sent before ``TriggerCheckpoint(c)`` must also arrive before
``TriggerCheckpoint(c)``. With this order, the snapshots of the assigner and of the source agree on the assigned splits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias, get_args

import msgspec

from weir.errors import ProtocolError
from weir.protocol.channel_state import EdgeSnapshot
from weir.protocol.ids import CheckpointId, CommandId, Generation, OperatorUid, SlotIncarnation, SlotIndex, SubtaskId
from weir.protocol.profiles import SlotProfile
from weir.protocol.snapshots import JsonValue, OperatorSnapshot, Split, SubtaskSnapshot

# ---- slot to coordinator ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """The first message of a slot. ``task``: index of the slot's Spark task, which is the preferred slot index. ``spark_task``:
    Spark's id of the current attempt of this task."""

    incarnation: SlotIncarnation
    task: int
    spark_task: int
    host: str
    data_port: int
    pid: int
    executor: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The heartbeat thread of a slot sends these messages. This thread never needs the GIL, so a slot whose code holds the GIL
    does not look dead.

    ``turns`` counts the turns of the loop. While ``turns`` stays constant, the loop is in one step. ``calls`` counts the starts
    and the ends of blocking calls. If ``calls`` is odd, a call is running. While ``calls`` keeps the same odd value, the same
    call is running. ``chain`` is the index of the chain whose step ran last, or -1.
    """

    turns: int
    calls: int = 0
    chain: int = -1


@dataclass(frozen=True, slots=True)
class StackSample:
    """A sample of the slot's stacks during a long step or blocking call. ``dump`` is text in the format of Python's faulthandler,
    encoded as hex digits. Hex digits need no JSON escapes, so the heartbeat thread can encode a dump without the GIL."""

    dump: str


@dataclass(frozen=True, slots=True)
class Restoring:
    """The progress of a restore: how many bytes of the slot's state files are restored. The slot sends this message once a
    second."""

    generation: Generation
    slot: SlotIndex
    restored_bytes: int
    total_bytes: int


def describe_restores(restores: Collection[Restoring]) -> str:
    """Return the total progress of one or more slots as text, such as ``restoring 3.2 of 8.0 GB``."""
    restored, total = (sum(sizes) for sizes in zip(*((one.restored_bytes, one.total_bytes) for one in restores), strict=True))
    unit, name = (1e9, "GB") if total >= 1e9 else (1e6, "MB")
    return f"restoring {restored / unit:.1f} of {total / unit:.1f} {name}"


@dataclass(frozen=True, slots=True)
class Deployed:
    """The slot has restored its state and opened its channels, so it can start."""

    generation: Generation


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """The snapshots of subtasks of the slot are durable. A slot usually acknowledges all its subtasks in one message."""

    generation: Generation
    checkpoint: CheckpointId
    snapshots: tuple[SubtaskSnapshot, ...]


@dataclass(frozen=True, slots=True)
class Decline:
    """The async phase failed, or the subtask cannot take a snapshot."""

    generation: Generation
    checkpoint: CheckpointId
    subtask: SubtaskId
    reason: str


@dataclass(frozen=True, slots=True)
class SubtaskFailed:
    """``kind``: a class name in weir.errors. ``restartable`` is False if a restart cannot help."""

    generation: Generation
    subtask: SubtaskId | None
    kind: str
    reason: str
    restartable: bool


@dataclass(frozen=True, slots=True)
class SubtaskEnded:
    """Every input has ended and all output is sent. The subtask continues to answer barriers."""

    generation: Generation
    subtask: SubtaskId


@dataclass(frozen=True, slots=True)
class RequestSplit:
    """A subtask has at most one open request. If the coordinator can discover more splits but has none now, it answers when it
    has discovered one. Until then, the subtask is idle."""

    generation: Generation
    operator: OperatorUid
    subtask: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The slot has stopped all subtasks of the generation."""

    generation: Generation


@dataclass(frozen=True, slots=True)
class SubtaskMetrics:
    """Counters since the deployment.

    ``busy_us``, ``idle_us``, ``backpressured_us`` and ``queued_us`` add up to the time since the subtask started.
    """

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


@dataclass(frozen=True, slots=True)
class ProfileAnswer:
    """The answer to TakeProfile, with the same ``command``. If ``profile`` is None, ``problem`` says in one or more sentences why the
    slot has taken no profile."""

    command: CommandId
    profile: SlotProfile | None
    problem: str = ""


# ---- coordinator to slot ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Peer:
    slot: SlotIndex
    host: str
    data_port: int


@dataclass(frozen=True, slots=True)
class RestoredOperator:
    """The snapshots that subtask ``subtask`` of ``operator`` restores.

    If the state is keyed, ``snapshots`` contains all snapshots that contain key groups of the subtask.
    """

    operator: OperatorUid
    subtask: int
    snapshots: tuple[OperatorSnapshot, ...]


@dataclass(frozen=True, slots=True)
class Deploy:
    """Build the subtasks of ``slot``, restore their state, open channels to ``peers``, and then send Deployed. If no slot exchanges
    records with another slot, ``peers`` is empty.

    ``inputs`` and ``outputs`` are the channels of the slot's subtasks, by edge. The sender of an input that has ended sends END
    again, but no data.
    """

    generation: Generation
    slot: SlotIndex
    graph: JsonValue
    peers: tuple[Peer, ...]
    restored_checkpoint: CheckpointId | None
    operators: tuple[RestoredOperator, ...]
    inputs: tuple[EdgeSnapshot, ...]
    outputs: tuple[EdgeSnapshot, ...]
    ended: tuple[SubtaskId, ...]
    """The subtasks that had called on_end_of_input before the snapshot. They must not call it again after the restore."""
    next_checkpoint: CheckpointId
    watermarks: tuple[tuple[SubtaskId, int], ...] = ()
    """The watermarks that subtasks had emitted before the snapshot. Later watermarks are higher."""
    attempt: int = 0
    """The number of earlier deployments of this slot in the same generation."""


@dataclass(frozen=True, slots=True)
class Start:
    generation: Generation


@dataclass(frozen=True, slots=True)
class TriggerCheckpoint:
    generation: Generation
    checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class NotifyCheckpointPublished:
    """The sinks have published the output of the checkpoint, and the job log records the publication."""

    generation: Generation
    checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class NotifyCheckpointAborted:
    generation: Generation
    checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class AssignSplit:
    """The answer to RequestSplit. ``split`` is None if no splits remain and none can be discovered.

    ``precedes`` is the next checkpoint to be triggered. The assignment arrives before the barrier of the checkpoint ``precedes``.
    """

    generation: Generation
    operator: OperatorUid
    subtask: int
    split: Split | None
    precedes: CheckpointId


@dataclass(frozen=True, slots=True)
class CancelSubtasks:
    """Stop the subtasks of the slot if their deployment is from this generation or an older one, and then send Cancelled. If
    ``attempt`` is not None, the slot may be deployed again in this generation, with a higher attempt."""

    generation: Generation
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class TakeProfile:
    """Sample the stacks of all threads of the slot for ``seconds`` seconds, and then send ProfileAnswer. ``command`` is the number of
    the user's command. If the slot is still taking an earlier profile, this profile replaces it, and the slot sends no answer for the
    earlier one."""

    command: CommandId
    seconds: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The answer to a heartbeat. Renews the lease. A slot stops if it receives no ``Lease`` for ``lease_ms``."""

    lease_ms: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Leave the loop and end the Spark task, because the job has ended or does not need the slot."""

    reason: str


FromSlot: TypeAlias = (
    Register
    | Heartbeat
    | Restoring
    | StackSample
    | Deployed
    | Acknowledge
    | Decline
    | SubtaskFailed
    | SubtaskEnded
    | RequestSplit
    | Cancelled
    | SlotMetrics
    | ProfileAnswer
)
ToSlot: TypeAlias = (
    Deploy
    | Start
    | TriggerCheckpoint
    | NotifyCheckpointPublished
    | NotifyCheckpointAborted
    | AssignSplit
    | CancelSubtasks
    | TakeProfile
    | Lease
    | Stop
)


def _decoders(union: object) -> dict[str, msgspec.json.Decoder[object]]:
    return {kind.__name__: msgspec.json.Decoder(kind) for kind in get_args(union)}


_FROM_SLOT = _decoders(FromSlot)
_TO_SLOT = _decoders(ToSlot)


def encode(message: FromSlot | ToSlot) -> bytes:
    """``["Name", {fields}]`` as UTF-8 JSON."""
    return msgspec.json.encode((type(message).__name__, message))


def _decode(kinds: dict[str, msgspec.json.Decoder[object]], data: bytes | bytearray | memoryview) -> object:
    """Both ends run the same version, so unknown fields need no check, unlike in stored data."""
    # An acknowledgement is up to 64 MiB long, so it is scanned only once: by the decoder of its kind.
    data = bytes(data).rstrip()
    name, _, fields = data.removeprefix(b'["').partition(b'",')
    decoder = kinds.get(name.decode(errors="replace"))
    if decoder is None or not (data.startswith(b'["') and data.endswith(b"]")):
        raise ProtocolError("control message of unknown kind")
    try:
        return decoder.decode(fields[:-1])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"invalid control message: {error}") from None


def decode_from_slot(data: bytes | bytearray | memoryview) -> FromSlot:
    return _decode(_FROM_SLOT, data)  # type: ignore[return-value]  # the table contains only these


def decode_to_slot(data: bytes | bytearray | memoryview) -> ToSlot:
    return _decode(_TO_SLOT, data)  # type: ignore[return-value]  # the table contains only these
