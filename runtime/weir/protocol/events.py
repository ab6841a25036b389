"""What a driver tells the control plane, and what the control plane asks of it: the words that both planes share.

Events of a run are numbered from 1 on without holes, in the order in which they happened; a batch of them may arrive twice, or begin
before what is known already. Commands of a run are numbered likewise by the control plane; that one was carried out, or why not, is
an event. ``at_ms`` is of the driver's wall clock since 1970, for people only: order is the sequence number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, get_args

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, CommandId, EventNumber, Generation, SubtaskId
from weir.protocol.messages import SlotMetrics
from weir.protocol.snapshots import JsonValue, SubtaskStatistics


class RunState(StrEnum):
    """Of one driver process, as it sees itself."""

    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    CANCELLING = "CANCELLING"
    FINISHED = "FINISHED"
    SUSPENDED = "SUSPENDED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"
    SUPERSEDED = "SUPERSEDED"
    """Another driver runs the job: this one has stopped, and has nothing more to say."""

    @property
    def final(self) -> bool:
        return self in _FINAL


_FINAL = frozenset({RunState.FINISHED, RunState.SUSPENDED, RunState.CANCELED, RunState.FAILED, RunState.SUPERSEDED})


@dataclass(frozen=True, slots=True)
class RunStateChanged:
    """``generation`` of the runtime: each recovery begins a new one. ``kind``: class name of the first cause, if it failed."""

    state: RunState
    generation: Generation
    reason: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class GraphDeployed:
    """``graph``: the physical graph as the codec writes it, the logical one included. Before the first RUNNING of a run."""

    graph: JsonValue


@dataclass(frozen=True, slots=True)
class FailureOccurred:
    generation: Generation
    reason: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """``took_ms``: from the failure until every subtask ran again."""

    generation: Generation
    reason: str
    took_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointTriggered:
    """``trigger``: what it is for (periodic, savepoint, final, suspend). ``subtasks``: how many have to acknowledge."""

    checkpoint: CheckpointId
    generation: Generation
    trigger: str
    subtasks: int


@dataclass(frozen=True, slots=True)
class SubtaskAcknowledged:
    """``after_ms``: after the trigger, by the driver's clock. For people who watch; statistics come at the end."""

    checkpoint: CheckpointId
    subtask: SubtaskId
    after_ms: int


@dataclass(frozen=True, slots=True)
class AcknowledgedStatistics:
    """What a subtask measured of its part of a checkpoint."""

    subtask: SubtaskId
    statistics: SubtaskStatistics


IMPORTED = "import"
"""Trigger of a checkpoint that was not taken of this job, but copied from elsewhere. Owned by the user, as a savepoint is."""


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    """Its entry is in the job's log: from now on it can be restored.

    ``state_bytes``: of all files it needs; ``checkpointed_bytes``: of those that it wrote itself. None: an older driver, or one that
    found a copy of an imported one.
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
    """What a slot has counted. The only events that may be dropped where there is no room to keep them."""

    metrics: SlotMetrics


@dataclass(frozen=True, slots=True)
class SamplesDropped:
    """In place of ``samples`` samples taken from ``from_ms`` to ``to_ms``, for which there was no room."""

    samples: int
    from_ms: int
    to_ms: int


class CommandOutcome(StrEnum):
    ACCEPTED = "ACCEPTED"
    """Taken up; what comes of it is told by the events of the checkpoint or of the run."""
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True)
class CommandAnswered:
    command: CommandId
    outcome: CommandOutcome
    reason: str = ""


Event: TypeAlias = (
    RunStateChanged
    | GraphDeployed
    | FailureOccurred
    | Recovered
    | CheckpointTriggered
    | SubtaskAcknowledged
    | CheckpointCompleted
    | CheckpointFailed
    | MetricsSampled
    | SamplesDropped
    | CommandAnswered
)


@dataclass(frozen=True, slots=True)
class TakeSavepoint:
    """Owned by the user: never subsumed."""


@dataclass(frozen=True, slots=True)
class TakeCheckpoint:
    """Now, and not when the next one is due. A savepoint that is wanted as well does for it."""


@dataclass(frozen=True, slots=True)
class Suspend:
    """Stop with a last checkpoint."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop without one."""


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """Of a control plane that is newer than this driver: to be refused by name."""

    name: str


Command: TypeAlias = TakeSavepoint | TakeCheckpoint | Suspend | Cancel | UnknownCommand


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
    value = [numbered.number, numbered.at_ms, type(numbered.event).__name__, codec.to_json(numbered.event)]
    return codec.write(value, errors="replace")


def encode_batch(encoded: Sequence[bytes]) -> bytes:
    """Events that ``encode_event`` gave, as the body of a request."""
    return b"[" + b",".join(encoded) + b"]"


def decode_batch(data: bytes | bytearray | memoryview) -> tuple[NumberedEvent, ...]:
    """Raises ProtocolError for anything but a batch of events that this version knows, numbered without holes."""
    value = codec.parse(data, "a batch of events")
    if not isinstance(value, list):
        raise ProtocolError("a batch of events is a list")
    events = tuple(_event(one) for one in value)
    for before, after in zip(events, events[1:], strict=False):
        if after.number != before.number + 1:
            raise ProtocolError(f"event {after.number} comes after event {before.number}: a batch has no holes")
    return events


def _event(value: object) -> NumberedEvent:
    if not (isinstance(value, list) and len(value) == 4):
        raise ProtocolError("an event is a list of number, time, kind and fields")
    number, at_ms, kind, fields = value
    if type(number) is not int or number < 1 or type(at_ms) is not int:
        raise ProtocolError(f"event {number!r}: its number and time are integers, the number at least 1")
    if not isinstance(kind, str) or kind not in _EVENTS:
        raise ProtocolError(f"event {number}: unknown kind {kind!r}")
    return NumberedEvent(EventNumber(number), at_ms, codec.from_json(_EVENTS[kind], fields))


def encode_commands(commands: Sequence[NumberedCommand]) -> bytes:
    return codec.dumps([[one.id, type(one.command).__name__, one.command] for one in commands])


def decode_commands(data: bytes | bytearray | memoryview) -> tuple[NumberedCommand, ...]:
    """Raises ProtocolError for anything but a list of commands, ascending."""
    value = codec.parse(data, "a list of commands")
    if not isinstance(value, list):
        raise ProtocolError("commands come as a list")
    commands = tuple(_command(one) for one in value)
    if any(after.id <= before.id for before, after in zip(commands, commands[1:], strict=False)):
        raise ProtocolError("commands are numbered in ascending order")
    return commands


def _command(value: object) -> NumberedCommand:
    if not (isinstance(value, list) and len(value) == 3):
        raise ProtocolError("a command is a list of number, kind and fields")
    number, kind, fields = value
    if type(number) is not int or number < 1:
        raise ProtocolError(f"command {number!r}: its number is an integer, at least 1")
    if not isinstance(kind, str):
        raise ProtocolError(f"command {number}: its kind is a word")
    command = codec.from_json(_COMMANDS[kind], fields) if kind in _COMMANDS else UnknownCommand(kind)
    return NumberedCommand(CommandId(number), command)
