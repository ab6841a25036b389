"""The events that a driver sends to the control plane, and the commands that it receives.

The events of a run are numbered from 1 without gaps, in the order in which they happened. A batch of events can arrive twice
or overlap earlier batches. The control plane numbers the commands of a run. The driver answers each command with an event.
``at_ms`` is the driver's wall clock since 1970, for display only, because the event number defines the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, get_args

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, CommandId, EventNumber, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import SlotMetrics
from weir.protocol.profiles import SlotProfile
from weir.protocol.snapshots import JsonValue, SubtaskStatistics


class DriverState(StrEnum):
    """The state of a run, as its driver reports it."""

    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    CANCELLING = "CANCELLING"
    FINISHED = "FINISHED"
    SUSPENDED = "SUSPENDED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"
    SUPERSEDED = "SUPERSEDED"
    """Another driver runs the job. The driver of this run has stopped and sends no more events."""

    @property
    def final(self) -> bool:
        return self in _FINAL


_FINAL = frozenset(
    {DriverState.FINISHED, DriverState.SUSPENDED, DriverState.CANCELED, DriverState.FAILED, DriverState.SUPERSEDED}
)


@dataclass(frozen=True, slots=True)
class RunStateChanged:
    """Each recovery starts a new ``generation``. ``kind`` is the class name of a failure's first cause."""

    state: DriverState
    generation: Generation
    reason: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class GraphDeployed:
    """The physical graph as JSON, including the logical graph. The event precedes the first RUNNING of a run."""

    graph: JsonValue


@dataclass(frozen=True, slots=True)
class FailureOccurred:
    generation: Generation
    reason: str


class RecoveryStrategy(StrEnum):
    """How a job recovers from the loss or the failure of a slot."""

    FULL = "full"
    """All slots restore the newest completed checkpoint."""
    REGIONAL = "regional"
    """If the failed slot exchanges no records with other slots, only this slot restores the newest completed checkpoint. Otherwise, all
    slots restore it."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """``took_ms`` is the time from the failure until every subtask was running. ``strategy`` is the value of the
    ``RecoveryStrategy`` by which the job has recovered."""

    generation: Generation
    reason: str
    took_ms: int
    strategy: str = RecoveryStrategy.FULL.value


@dataclass(frozen=True, slots=True)
class WarningReported:
    """A problem that the user must know about. The job continues. ``reason`` is one or more sentences."""

    generation: Generation
    reason: str


@dataclass(frozen=True, slots=True)
class CheckpointTriggered:
    """``trigger`` is the kind of the checkpoint (periodic, manual, savepoint, final, suspend).

    ``subtasks`` is the number of subtasks that must acknowledge.
    """

    checkpoint: CheckpointId
    generation: Generation
    trigger: str
    subtasks: int


@dataclass(frozen=True, slots=True)
class SubtasksAcknowledged:
    """Subtasks of one slot have acknowledged the checkpoint. ``after_ms`` is the time since the trigger, by the driver's clock.

    ``after_ms`` is for live display only, because ``CheckpointCompleted`` contains the statistics.
    """

    checkpoint: CheckpointId
    subtasks: tuple[SubtaskId, ...]
    after_ms: int


@dataclass(frozen=True, slots=True)
class AcknowledgedStatistics:
    """The statistics of one subtask of a checkpoint."""

    subtask: SubtaskId
    statistics: SubtaskStatistics


IMPORTED = "import"
"""The trigger of a checkpoint that was imported from another job. As with a savepoint, the user owns an imported checkpoint."""


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    """The job log contains the checkpoint, so it can be restored.

    ``state_bytes``: size of all files that a restore needs. ``checkpointed_bytes`` is the size of the files that this
    checkpoint wrote. ``checkpointed_bytes`` is None if an older driver sent the event, or if the driver found an existing
    copy of an imported checkpoint.
    """

    checkpoint: CheckpointId
    generation: Generation
    trigger: str
    end_to_end_ms: int
    state_bytes: int
    subtasks: tuple[AcknowledgedStatistics, ...]
    checkpointed_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointFailed:
    checkpoint: CheckpointId
    reason: str


@dataclass(frozen=True, slots=True)
class MetricsSampled:
    """Metrics of a slot. When the spool is full, the driver drops only events of this kind."""

    metrics: SlotMetrics


@dataclass(frozen=True, slots=True)
class SamplesDropped:
    """The driver dropped metric samples because the spool was full. ``samples`` is the number of dropped samples; the first was
    dropped at ``from_ms``, the last at ``to_ms``."""

    samples: int
    from_ms: int
    to_ms: int


class CommandOutcome(StrEnum):
    ACCEPTED = "ACCEPTED"
    """Accepted. The outcome follows in a later event, such as an event of the checkpoint or the run."""
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True)
class CommandAnswered:
    command: CommandId
    outcome: CommandOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ProfileEnded:
    """The outcome of the accepted command ProfileSlot with the number ``command``. If ``profile`` is None, ``problem`` says in one or
    more sentences why there is no profile."""

    command: CommandId
    profile: SlotProfile | None
    problem: str = ""


Event: TypeAlias = (
    RunStateChanged
    | GraphDeployed
    | FailureOccurred
    | Recovered
    | WarningReported
    | CheckpointTriggered
    | SubtasksAcknowledged
    | CheckpointCompleted
    | CheckpointFailed
    | MetricsSampled
    | SamplesDropped
    | CommandAnswered
    | ProfileEnded
)


@dataclass(frozen=True, slots=True)
class TakeSavepoint:
    """Take a savepoint, which the user owns and which is never subsumed."""


@dataclass(frozen=True, slots=True)
class TakeCheckpoint:
    """Take a checkpoint now. A savepoint that is requested at the same time serves both requests."""


@dataclass(frozen=True, slots=True)
class Suspend:
    """Take a last checkpoint and stop."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop without a checkpoint."""


@dataclass(frozen=True, slots=True)
class ProfileSlot:
    """Take a profile of ``seconds`` seconds of one slot."""

    slot: SlotIndex
    seconds: int


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """A command that only a newer control plane knows. The driver refuses the command and reports its name."""

    name: str


Command: TypeAlias = TakeSavepoint | TakeCheckpoint | Suspend | Cancel | ProfileSlot | UnknownCommand


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    number: EventNumber
    at_ms: int
    event: Event


@dataclass(frozen=True, slots=True)
class NumberedCommand:
    id: CommandId
    command: Command


_EVENTS: dict[str, type] = {kind.__name__: kind for kind in get_args(Event)}
_COMMANDS: dict[str, type] = {kind.__name__: kind for kind in get_args(Command) if kind is not UnknownCommand}


def encode_event(numbered: NumberedEvent) -> bytes:
    """``[number, at_ms, "Kind", {fields}]`` as UTF-8 JSON, without a line break."""
    value = [numbered.number, numbered.at_ms, type(numbered.event).__name__, numbered.event]
    return codec.dumps(value, errors="replace")


def encode_batch(encoded: Sequence[bytes]) -> bytes:
    """Join encoded events into the body of a request."""
    return b"[" + b",".join(encoded) + b"]"


def decode_batch(data: bytes | bytearray | memoryview) -> tuple[NumberedEvent, ...]:
    """Raises ProtocolError for anything except a batch of known events, numbered without gaps."""
    value = codec.parse_json(data, "a batch of events")
    if not isinstance(value, list):
        raise ProtocolError("a batch of events must be a list")
    events = tuple(_event(one) for one in value)
    for before, after in zip(events, events[1:], strict=False):
        if after.number != before.number + 1:
            raise ProtocolError(f"event {after.number} follows event {before.number}: a batch must have no gaps")
    return events


def _event(value: object) -> NumberedEvent:
    if not (isinstance(value, list) and len(value) == 4):
        raise ProtocolError("an event must be a list of number, time, kind and fields")
    number, at_ms, kind, fields = value
    if type(number) is not int or number < 1 or type(at_ms) is not int:
        raise ProtocolError(f"event {number!r}: the number and time must be integers, and the number at least 1")
    if kind == "SubtaskAcknowledged" and isinstance(fields, dict):
        # Drivers of older versions send one event for each subtask.
        kind, fields = SubtasksAcknowledged.__name__, {**fields, "subtasks": [fields.pop("subtask", None)]}
    if not isinstance(kind, str) or kind not in _EVENTS:
        raise ProtocolError(f"event {number}: unknown kind {kind!r}")
    return NumberedEvent(EventNumber(number), at_ms, codec.from_json(_EVENTS[kind], fields))


def encode_commands(commands: Sequence[NumberedCommand]) -> bytes:
    return codec.dumps([[one.id, type(one.command).__name__, one.command] for one in commands])


def decode_commands(data: bytes | bytearray | memoryview) -> tuple[NumberedCommand, ...]:
    """Raises ProtocolError for anything except a list of commands in ascending order."""
    value = codec.parse_json(data, "a list of commands")
    if not isinstance(value, list):
        raise ProtocolError("commands must be a list")
    commands = tuple(_command(one) for one in value)
    if any(after.id <= before.id for before, after in zip(commands, commands[1:], strict=False)):
        raise ProtocolError("commands must be in ascending order")
    return commands


def _command(value: object) -> NumberedCommand:
    if not (isinstance(value, list) and len(value) == 3):
        raise ProtocolError("a command must be a list of number, kind and fields")
    number, kind, fields = value
    if type(number) is not int or number < 1:
        raise ProtocolError(f"command {number!r}: the number must be an integer of at least 1")
    if not isinstance(kind, str):
        raise ProtocolError(f"command {number}: the kind must be a string")
    command = codec.from_json(_COMMANDS[kind], fields) if kind in _COMMANDS else UnknownCommand(kind)
    return NumberedCommand(CommandId(number), command)
