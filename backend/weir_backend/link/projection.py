"""Compute the changes to database rows that follow from a batch of events. The projection is pure. The projection applies events one by one, so
the result does not depend on how the events are divided into batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, assert_never, cast

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.events import (
    IMPORTED,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    CommandAnswered,
    CommandOutcome,
    DriverState,
    FailureOccurred,
    GraphDeployed,
    MetricsSampled,
    NumberedEvent,
    ProfileEnded,
    Recovered,
    RunStateChanged,
    SamplesDropped,
    SubtasksAcknowledged,
    WarningReported,
)
from weir_backend.kit.clock import from_ms
from weir_backend.kit.jsonb import clean_text
from weir_backend.link.changes import Changes, CheckpointRow, CommandRow, EventRow, FailureRow, OperationEnd, RunFacts, SampleRow
from weir_backend.models import CheckpointState, OperationKind, OperationState, RunState
from weir_backend.runs import lifecycle
from weir_backend.runs.graph import graph_content

SAVEPOINT = "savepoint"
SAVEPOINT_TRIGGERS = frozenset({SAVEPOINT, IMPORTED})
"""The triggers of the checkpoints that belong to users: savepoints and imported checkpoints."""
FULFILLED_COMMANDS = {SAVEPOINT: frozenset({"TakeSavepoint", "TakeCheckpoint"}), "manual": frozenset({"TakeCheckpoint"})}
"""For each trigger of a checkpoint, the commands that a checkpoint with this trigger fulfils."""
OPERATION_OF_COMMAND = {
    "TakeSavepoint": OperationKind.SAVEPOINT,
    "TakeCheckpoint": OperationKind.CHECKPOINT,
    "ProfileSlot": OperationKind.PROFILE,
}
"""For each command, the kind of operation that sends the command."""
MISSING = "EventsMissing"
"""The kind of the event that records a gap: the driver can no longer send the missing events."""
SMALLINT_MAX = (1 << 15) - 1
_TRIGGER_CHARACTERS = 20


def project(facts: RunFacts, events: Sequence[NumberedEvent], *, received_at: datetime) -> Changes:
    """Return the changes that follow from consecutive events that are not stored yet.

    ``received_at`` is the upper limit for the start and end times of a run, because the clock of the driver can be wrong. Raises ProtocolError if
    an event contains a value that a correct driver never sends."""
    projection = _Projection(facts, received_at)
    if events[0].number > facts.run.stored_event + 1:
        projection.record_gap(events[0])
    for event in events:
        projection.apply(event)
    facts.run.stored_event = events[-1].number
    projection.changes.event_number = projection.event_number
    return projection.changes


class _Projection:
    def __init__(self, facts: RunFacts, received_at: datetime) -> None:
        self._facts = facts
        self._run = facts.run
        self._received_at = received_at
        self._checkpoints = facts.checkpoints
        self._newest_completed = facts.newest_completed
        self._failures = facts.failures
        self._changed_failures: set[int] = set()
        self.event_number = facts.event_number
        self.changes = Changes(facts.run)

    def apply(self, numbered: NumberedEvent) -> None:
        event, number = numbered.event, numbered.number
        at = from_ms(numbered.at_ms)
        match event:
            case MetricsSampled(metrics):
                if not 0 <= metrics.slot <= SMALLINT_MAX:
                    raise ProtocolError(f"event {number}: {metrics.slot} is not a slot number")
                self.changes.samples.append(SampleRow(metrics.slot, at, codec.to_json(metrics)))
                return
            case SubtasksAcknowledged():
                self._acknowledged(event, at)
                return
            case CheckpointCompleted():
                self._log(number, event, at, {**_without_subtasks(event), "subtasks": len(event.subtasks)})
                self._completed(event, at)
            case CheckpointTriggered():
                self._log(number, event, at)
                self._triggered(event, number, at)
            case CheckpointFailed(checkpoint, reason):
                self._log(number, event, at)
                row = self._checkpoints.get(checkpoint)
                if row is not None and row.state is CheckpointState.IN_PROGRESS:
                    self._fail_checkpoint(row, clean_text(reason), at)
            case RunStateChanged():
                self._log(number, event, at)
                self._state(event, at)
            case GraphDeployed(graph):
                self._graph(number, graph, at)
            case FailureOccurred(generation, reason):
                self._log(number, event, at)
                self._add_failure(FailureRow(generation, clean_text(reason), at))
            case Recovered():
                self._log(number, event, at)
                self._recovered(event, at)
            case CommandAnswered():
                self._log(number, event, at)
                self._answered(event, number)
            case ProfileEnded():
                self._profile_ended(event, at)
            case SamplesDropped() | WarningReported():
                self._log(number, event, at)
            case _:
                assert_never(event)

    def record_gap(self, first: NumberedEvent) -> None:
        """Record that the events between the last stored event and ``first`` are missing."""
        at = from_ms(first.at_ms)
        missing_from = self._run.stored_event + 1
        self._run.missing_events += first.number - missing_from
        self._add_event(EventRow(0, None, MISSING, {"from": missing_from, "to": first.number - 1}, at))
        for row in self._in_progress():
            # If a later event reports that the checkpoint is completed, ``_completed`` removes the failure of the checkpoint.
            self._fail_checkpoint(row, "the outcome is unknown, because events are missing", at)

    # ---- event log -------------------------------------------------------------------------------

    def _log(self, number: int, event: Any, at: datetime, fields: dict[str, Any] | None = None) -> None:
        found = cast("dict[str, Any]", codec.to_json(event)) if fields is None else fields
        self._add_event(EventRow(0, number, type(event).__name__, found, at))

    def _add_event(self, row: EventRow) -> None:
        self.event_number += 1
        self.changes.events.append(EventRow(self.event_number, row.run_event, row.kind, row.fields, row.at, row.graph))

    def _graph(self, number: int, graph: Any, at: datetime) -> None:
        if not isinstance(graph, dict):
            raise ProtocolError(f"event {number}: the graph is not an object")
        content = graph_content(graph)
        self.changes.graphs.append(content)
        self._add_event(EventRow(0, number, GraphDeployed.__name__, {}, at, content))

    # ---- run -------------------------------------------------------------------------------

    def _state(self, event: RunStateChanged, at: datetime) -> None:
        state, run = lifecycle.from_driver_state(event.state), self._run
        if run.state in lifecycle.FINAL:
            return
        if event.generation > run.generation:
            self._fail_pending(f"generation {event.generation} started before the checkpoint was completed", at)
            run.generation = event.generation
        reason = clean_text(lifecycle.from_driver_reason(event.state, event.reason))
        if reason != run.reason or lifecycle.is_legal(run.state, state):
            run.reason = reason
            self.changes.state_changed = True
        if not lifecycle.is_legal(run.state, state):
            return
        run.state = state
        moment = min(at, self._received_at)
        if state is RunState.RUNNING and run.running_at is None:
            run.running_at = moment
        if state in lifecycle.FINAL:
            run.ended_at = moment
            run.failure_kind = clean_text(event.kind) if state is RunState.FAILED else ""
            self._fail_pending("the run ended before the checkpoint was completed", at)
            self._end_failures(event, at)

    def _end_failures(self, event: RunStateChanged, at: datetime) -> None:
        """Close the open failures of a run that ends. If the run failed and has no open failure, add a failure with the reason that the
        driver reported."""
        kind = clean_text(event.kind)
        if not self._failures and event.state is DriverState.FAILED:
            self._add_failure(FailureRow(event.generation, clean_text(event.reason), at))
        for row in self._failures:
            row.recovery = "none"
            row.kind = row.kind or kind
            self._change_failure(row)
        self._failures = []

    def _recovered(self, event: Recovered, at: datetime) -> None:
        for row in self._failures:
            row.recovered_at, row.downtime_ms, row.recovery = at, event.took_ms, clean_text(event.strategy)
            self._change_failure(row)
        self._failures = []

    def _add_failure(self, row: FailureRow) -> None:
        self._failures.append(row)
        self._change_failure(row)

    def _change_failure(self, row: FailureRow) -> None:
        if id(row) not in self._changed_failures:
            self._changed_failures.add(id(row))
            self.changes.failures.append(row)

    # ---- checkpoints ---------------------------------------------------------------------------

    def _triggered(self, event: CheckpointTriggered, number: int, at: datetime) -> None:
        if event.checkpoint in self._checkpoints or event.checkpoint in self._facts.taken:
            return
        row = CheckpointRow(
            number=event.checkpoint,
            generation=event.generation,
            state=CheckpointState.IN_PROGRESS,
            trigger=_trigger(event.trigger),
            parent=self._newest_completed,
            triggered_at=at,
            triggered_event=number,
            subtasks=event.subtasks,
        )
        self._checkpoints[row.number] = row
        self.changes.checkpoints[row.number] = row

    def _acknowledged(self, event: SubtasksAcknowledged, at: datetime) -> None:
        row = self._checkpoints.get(event.checkpoint)
        if row is None or row.state is not CheckpointState.IN_PROGRESS:
            return
        row.progress += [[subtask.chain, subtask.index, event.after_ms] for subtask in event.subtasks]
        row.acknowledged += len(event.subtasks)
        row.latest_ack_at = at
        self.changes.checkpoints[row.number] = row

    def _completed(self, event: CheckpointCompleted, at: datetime) -> None:
        """Mark the checkpoint as completed, even if it was marked as failed before. The job log contains the checkpoint, so it is certainly
        completed."""
        row = self._checkpoints.get(event.checkpoint)
        if event.checkpoint in self._facts.taken or (row is not None and row.state is CheckpointState.COMPLETED):
            return
        if row is None:
            row = CheckpointRow(
                number=event.checkpoint,
                generation=event.generation,
                state=CheckpointState.COMPLETED,
                trigger=_trigger(event.trigger),
                parent=None,
                triggered_at=from_ms(int(at.timestamp() * 1000) - event.end_to_end_ms),
                triggered_event=None,
                subtasks=len(event.subtasks),
            )
            self._checkpoints[row.number] = row
        row.state, row.completed_at = CheckpointState.COMPLETED, at
        row.failed_at = row.failure = None
        row.end_to_end_ms, row.state_bytes = event.end_to_end_ms, event.state_bytes
        row.checkpointed_bytes = event.checkpointed_bytes
        row.acknowledged = len(event.subtasks)
        row.statistics = [[one.subtask.chain, one.subtask.index, codec.to_json(one.statistics)] for one in event.subtasks]
        if self._newest_completed is None or self._newest_completed < row.number:
            row.parent = self._newest_completed
            self._newest_completed = row.number
        self.changes.checkpoints[row.number] = row
        self._end_fulfilled_operations(row, OperationState.SUCCEEDED, at, result={"checkpoint": row.number})

    def _fail_checkpoint(self, row: CheckpointRow, reason: str, at: datetime) -> None:
        row.state, row.failed_at, row.failure = CheckpointState.FAILED, at, reason
        self.changes.checkpoints[row.number] = row
        self._end_fulfilled_operations(row, OperationState.FAILED, at, problem=f"checkpoint {row.number} failed: {reason}")

    def _fail_pending(self, reason: str, at: datetime) -> None:
        for row in self._in_progress():
            self._fail_checkpoint(row, reason, at)

    def _in_progress(self) -> list[CheckpointRow]:
        return [row for _, row in sorted(self._checkpoints.items()) if row.state is CheckpointState.IN_PROGRESS]

    # ---- commands and operations ----------------------------------------------------------

    def _answered(self, event: CommandAnswered, number: int) -> None:
        row = self._facts.commands.get(event.command)
        if row is None or row.outcome is not None:
            return
        row.outcome, row.reason, row.answered_event = event.outcome.value, clean_text(event.reason), number
        self.changes.commands[row.number] = row
        if event.outcome is CommandOutcome.REFUSED:
            self._end_operation(row, OperationState.FAILED, problem=f"the driver refused the command: {row.reason}")

    def _end_fulfilled_operations(
        self,
        row: CheckpointRow,
        state: OperationState,
        at: datetime,
        *,
        result: dict[str, Any] | None = None,
        problem: str | None = None,
    ) -> None:
        """End the operations whose accepted command requested this checkpoint, and record an event for each operation. ``_answered`` ends
        the operations of refused commands."""
        if row.triggered_event is None:
            return
        for command in self._facts.commands.values():
            if command.kind not in FULFILLED_COMMANDS.get(row.trigger, ()) or command.outcome != CommandOutcome.ACCEPTED.value:
                continue
            if command.answered_event is None or command.answered_event >= row.triggered_event:
                continue
            self._record_end(command, state, problem, at)
            self._end_operation(command, state, result=result, problem=problem)

    def _profile_ended(self, event: ProfileEnded, at: datetime) -> None:
        """End the operation of the profile. The event log does not contain the profile, because it is large."""
        command = self._facts.commands.get(event.command)
        if command is None or command.kind != "ProfileSlot":
            return
        if event.profile is None:
            problem = clean_text(event.problem)
            self._record_end(command, OperationState.FAILED, problem, at)
            self._end_operation(command, OperationState.FAILED, problem=problem)
        else:
            self._record_end(command, OperationState.SUCCEEDED, None, at)
            result = {"samples": event.profile.samples, "dropped_samples": event.profile.dropped_samples}
            profile = cast("dict[str, Any]", codec.to_json(event.profile))
            self._end_operation(command, OperationState.SUCCEEDED, result=result, profile=profile)

    def _record_end(self, command: CommandRow, state: OperationState, problem: str | None, at: datetime) -> None:
        """Record that the operation of a command has ended. Do nothing if the operation had ended already."""
        if command.operation_id is not None:
            fields = {
                "operation": command.operation_id,
                "operation_kind": OPERATION_OF_COMMAND[command.kind].value,
                "state": state.value,
                "problem": problem,
            }
            self._add_event(EventRow(0, None, "OperationEnded", fields, at))

    def _end_operation(
        self,
        command: CommandRow,
        state: OperationState,
        *,
        result: dict[str, Any] | None = None,
        problem: str | None = None,
        profile: dict[str, Any] | None = None,
    ) -> None:
        if command.operation_id is not None:
            self.changes.operations.append(OperationEnd(command.operation_id, state, result, problem, profile))
            command.operation_id = None


def _trigger(text: str) -> str:
    return clean_text(text)[:_TRIGGER_CHARACTERS]


def _without_subtasks(event: CheckpointCompleted) -> dict[str, Any]:
    """Return the fields of the event without the statistics of the subtasks, which are stored with the checkpoint."""
    return {
        "checkpoint": event.checkpoint,
        "generation": event.generation,
        "trigger": event.trigger,
        "end_to_end_ms": event.end_to_end_ms,
        "state_bytes": event.state_bytes,
    }
