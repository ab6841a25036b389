"""The reporter, which records the coordinator's actions as events for the control plane."""

from __future__ import annotations

from collections.abc import Callable

from weir.kernel.effects import Finish, JobOutcome, Report, ReportKind
from weir.kernel.job import JobPhase
from weir.protocol.events import (
    AcknowledgedStatistics,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    DriverState,
    Event,
    FailureOccurred,
    GraphDeployed,
    MetricsSampled,
    ProfileEnded,
    Recovered,
    RunStateChanged,
    SubtasksAcknowledged,
    WarningReported,
)
from weir.protocol.ids import CheckpointId, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import Acknowledge, FromSlot, Restoring, SlotMetrics, describe_restores
from weir.protocol.snapshots import JsonValue

RESTORE_EVERY_MS = 10_000
"""The minimum time between two recorded events about a restore. A restore that takes less time than RESTORE_EVERY_MS causes no
event."""
SAMPLE_EVERY_MS = 2_000
"""The minimum time between two recorded samples of a slot. Slots report about once a second, which is more than the charts
can show."""

_FINAL = {
    JobOutcome.FINISHED: DriverState.FINISHED,
    JobOutcome.SUSPENDED: DriverState.SUSPENDED,
    JobOutcome.FAILED: DriverState.FAILED,
    JobOutcome.CANCELED: DriverState.CANCELED,
    JobOutcome.SUPERSEDED: DriverState.SUPERSEDED,
}


class Reporter:
    """A Listener of the coordinator. ``record`` must accept an event and return at once. ``now_ms`` is a monotonic clock."""

    def __init__(self, record: Callable[[Event], None], *, graph: JsonValue, subtasks: int, now_ms: Callable[[], int]) -> None:
        self._record = record
        self._subtasks = subtasks
        self._now_ms = now_ms
        self._reported: RunStateChanged | None = None
        """The newest recorded state, with its reason."""
        self._generation = Generation(0)
        self._phase: tuple[JobPhase, Generation] | None = None
        self._failed = False
        """Whether the job has failed since it was last in the phase RUNNING. If so, every phase before the next RUNNING belongs
        to a recovery."""
        self._failure = ""
        self._pending: tuple[CheckpointId, int] | None = None
        """The pending checkpoint and the time of its trigger, in milliseconds."""
        self._sampled_ms: dict[SlotIndex, int] = {}
        self._restores: dict[SlotIndex, Restoring] = {}
        self._restore_reported_ms: int | None = None
        record(GraphDeployed(graph))

    def on_phase(self, phase: JobPhase, generation: Generation) -> None:
        if (phase, generation) == self._phase:
            return  # the phase has not changed, so keep the reason of the state
        self._phase, self._generation = (phase, generation), generation
        if phase is JobPhase.ENDED:
            return  # ``on_finish`` reports the outcome
        if phase is JobPhase.RUNNING:
            self._failed = False
        self._restores.clear()
        self._restore_reported_ms = None
        state = self._state(phase)
        self._report_state(state, generation, self._failure if state is DriverState.RESTARTING else "")

    def on_message(self, message: FromSlot) -> None:
        match message:
            case Acknowledge(generation, checkpoint, snapshots):
                if self._pending is not None and self._pending[0] == checkpoint and generation == self._generation:
                    after_ms = self._now_ms() - self._pending[1]
                    subtasks = tuple(SubtaskId(snapshot.chain, snapshot.index) for snapshot in snapshots)
                    self._record(SubtasksAcknowledged(checkpoint, subtasks, after_ms))
            case SlotMetrics():
                self._sample(message)
            case Restoring():
                self._report_restore(message)
            case _:
                pass  # ``on_report`` reports the effects of other messages

    def on_report(self, report: Report) -> None:
        match report.kind:
            case ReportKind.FAILURE:
                assert report.generation is not None
                self._failed, self._failure = True, report.text
                self._record(FailureOccurred(report.generation, report.text))
            case ReportKind.RECOVERED:
                assert report.generation is not None and report.value_ms is not None
                self._record(Recovered(report.generation, self._failure, report.value_ms, report.strategy))
                if self._phase == (JobPhase.RUNNING, report.generation):
                    # The other slots have continued, so the phase does not change.
                    self._failed = False
                    self._report_state(DriverState.RUNNING, report.generation, "")
            case ReportKind.REPLACING:
                assert report.generation is not None
                self._report_state(DriverState.RUNNING, report.generation, report.text)
            case ReportKind.WAITING_FOR_SLOTS:
                assert report.generation is not None
                # The reason explains why the job does not run yet. When the phase changes, ``on_phase`` replaces the reason.
                self._report_state(self._state(JobPhase.ALLOCATING), report.generation, f"waiting for slots: {report.text}")
            case ReportKind.RETRYING:
                if self._reported is not None and self._reported.state is not DriverState.RUNNING:
                    self._report_state(self._reported.state, self._reported.generation, f"retrying: {report.text}")
            case ReportKind.SLOW:
                if self._reported is not None:
                    # If a slot is no longer slow, the text of the report is empty. If the text is empty and the job is
                    # restarting, report again the failure that caused the restart.
                    state = self._reported.state
                    text = report.text or (self._failure if state is DriverState.RESTARTING else "")
                    self._report_state(state, self._reported.generation, text)
            case ReportKind.WARNING:
                assert report.generation is not None
                self._record(WarningReported(report.generation, report.text))
            case ReportKind.CHECKPOINT_TRIGGERED:
                assert report.checkpoint is not None
                self._pending = (report.checkpoint, self._now_ms())
                self._record(CheckpointTriggered(report.checkpoint, self._generation, report.text, self._subtasks))
            case ReportKind.CHECKPOINT_ABORTED:
                assert report.checkpoint is not None
                self._pending = None
                self._record(CheckpointFailed(report.checkpoint, report.text))
            case ReportKind.PROFILE_ENDED:
                assert report.command is not None
                self._record(ProfileEnded(report.command, report.profile, report.text))
            case ReportKind.CHECKPOINT_COMPLETED:
                self._pending = None
                self._record(_completed(report))

    def on_finish(self, finish: Finish) -> None:
        self._record(RunStateChanged(_FINAL[finish.outcome], self._generation, finish.reason, finish.kind))

    def _state(self, phase: JobPhase) -> DriverState:
        if phase is JobPhase.RUNNING:
            return DriverState.RUNNING
        if self._failed:
            return DriverState.RESTARTING
        return DriverState.CANCELLING if phase is JobPhase.CANCELLING else DriverState.INITIALIZING

    def _report_state(self, state: DriverState, generation: Generation, reason: str) -> None:
        changed = RunStateChanged(state, generation, reason)
        if self._reported != changed:
            self._reported = changed
            self._record(changed)

    def _report_restore(self, message: Restoring) -> None:
        """If a restore takes a long time, report its progress as the reason of the run's state, so that the user can see why the
        job does not run yet."""
        now_ms = self._now_ms()
        if message.generation != self._generation or self._reported is None:
            return
        self._restores[message.slot] = message
        if self._restore_reported_ms is None:
            self._restore_reported_ms = now_ms
        elif now_ms - self._restore_reported_ms >= RESTORE_EVERY_MS:
            self._restore_reported_ms = now_ms
            reason = describe_restores(self._restores.values())
            self._report_state(self._reported.state, self._reported.generation, reason)

    def _sample(self, metrics: SlotMetrics) -> None:
        now_ms = self._now_ms()
        last_ms = self._sampled_ms.get(metrics.slot)
        if last_ms is not None and now_ms - last_ms < SAMPLE_EVERY_MS:
            return
        self._sampled_ms[metrics.slot] = now_ms
        self._record(MetricsSampled(metrics))


def _completed(report: Report) -> CheckpointCompleted:
    assert report.checkpoint is not None and report.generation is not None
    assert report.pending is not None and report.value_ms is not None
    return CheckpointCompleted(
        checkpoint=report.checkpoint,
        generation=report.generation,
        trigger=report.pending.kind,
        end_to_end_ms=report.value_ms,
        state_bytes=report.pending.statistics.state_bytes,
        subtasks=tuple(
            AcknowledgedStatistics(SubtaskId(snapshot.chain, snapshot.index), snapshot.statistics)
            for snapshot in report.pending.ordered_snapshots()
        ),
        checkpointed_bytes=report.pending.statistics.checkpointed_bytes,
    )
