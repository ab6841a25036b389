"""The runtime of one slot. One loop drives at most one subtask of each chain, without locks. The slot's environment
(environment.py) does all I/O.

Pass control messages and frames to ``SlotRuntime``, and call ``turn`` repeatedly. Each turn does a bounded amount of work. A
turn first gathers snapshots, then handles a control event (trigger, barrier), or a batch if no control event is waiting.
Downstream subtasks come before upstream subtasks, so sources come last.
"""

from __future__ import annotations

import contextlib
import traceback
from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import cast

from weir.errors import CheckpointError, ProtocolError, Retry, SlotError, WeirError
from weir.graph.physical import PhysicalGraph
from weir.operators.base import Operator, SourceOperator
from weir.protocol import codec
from weir.protocol.frames import CREDIT, Frame
from weir.protocol.ids import Attempt, CheckpointId, Generation, SubtaskId
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancelled,
    CancelSubtasks,
    Decline,
    Deploy,
    Deployed,
    Lease,
    NotifyCheckpointAborted,
    NotifyCheckpointPublished,
    Restoring,
    SlotMetrics,
    Start,
    Stop,
    SubtaskEnded,
    SubtaskFailed,
    TakeProfile,
    ToSlot,
    TriggerCheckpoint,
)
from weir.protocol.snapshots import OperatorSnapshot
from weir.secrets import without_secrets
from weir.subtask.channels import BUFFER_MS_MAX, LocalOutput, Outputs
from weir.subtask.checkpointing import SubtaskCheckpoint
from weir.subtask.deployment import DeploymentBuilder, SlotDeployment, SlotSettings, StateRestore
from weir.subtask.environment import Program, SlotEnvironment
from weir.subtask.metrics import slot_metrics
from weir.subtask.source_subtask import SourceSubtask
from weir.subtask.subtask import ANY_TIME, NONE, SubtaskRuntime
from weir.subtask.timing import BACKPRESSURED, BLOCKING_CALL, IDLE, QUEUED, RUNNABLE, SubtaskCondition

FLUSH_AGE_NS = 100_000_000
"""While a slot is busy, the pending rows of a partitioner are sent after this time. While a slot is idle, pending rows are sent
at the time that ``Outputs.flush_at_ns`` returns."""
ALIGNING_FLUSH_AGE_NS = 20_000_000
"""In a job without a buffer timeout, an idle slot sends pending rows after this time while one of its subtasks is aligning.

Pending rows are not sent at once, because the barrier will flush them, and a small batch costs as much as a full batch.
"""
SCAN_INTERVAL = 40
"""The time between two scans of all subtasks of a busy slot, as a multiple of the duration of a scan. A slot of many subtasks would
otherwise scan longer than its subtasks run."""
NAP_PARTS = 16
"""A nap of the loop takes 1 / NAP_PARTS of the buffer timeout, or of BUFFER_MS_MAX if the timeout is longer."""
NAP_SLOTS_MIN = 8
"""With fewer slots, the loop does not sleep while a subtask is aligning, because the barriers of a checkpoint are too few."""
_REASON_CHARS_MAX = 20_000
_ATTEMPT_MAX = 1 << 62


class SlotRuntime:
    def __init__(self, program: Program, environment: SlotEnvironment, settings: SlotSettings) -> None:
        self._program = program
        self._environment = environment
        self._settings = settings
        self._deployment: SlotDeployment | None = None
        self._fenced = Attempt(Generation(0))
        """Messages and frames of this attempt, or of an older attempt, no longer have an effect in this slot."""
        self._closing: list[SlotDeployment] = []
        """Earlier deployments that are not closed yet, because their background calls may still run."""
        self._cancelled: Generation | None = None
        """The generation of a Cancel message that the slot has not answered yet, or None. The slot does not answer while
        background calls are running."""
        self._busy_ns = 0
        self._queue: deque[SubtaskRuntime] = deque()
        """The subtasks that could run at the last scan, and have not run since."""
        self._scan_at_ns = 0
        """After this time, the loop no longer runs queued subtasks, but scans all subtasks."""
        self._rested = True
        """Whether no subtask could run at the last scan."""
        self._flushed_ns = 0
        self.stop_reason: str | None = None

    @property
    def generation(self) -> Generation | None:
        return self._deployment.generation if self._deployment is not None else None

    def close_earlier_deployments(self) -> bool:
        """Close the earlier deployments whose background calls have ended. Return whether all earlier deployments are closed.

        If a restore was cancelled, close its operators only after the restore has ended, because the restore uses these
        operators."""
        ended = [deployment for deployment in self._closing if deployment.background.is_idle]
        for deployment in ended:
            self._closing.remove(deployment)
            if deployment.restore is not None:
                self._close(deployment.restore.operators)
        return not self._closing

    # ---- messages and frames ---------------------------------------------------------------------

    def on_control(self, message: ToSlot) -> None:
        match message:
            case Deploy():
                self._fail_on_error(lambda: self._deploy(message), message.generation)
            case CancelSubtasks(generation, attempt):
                self._cancel(Attempt(generation, _ATTEMPT_MAX if attempt is None else attempt))
            case Stop(reason):
                self._drop_deployment()
                self.stop_reason = reason
            case Lease() | TakeProfile():
                pass  # the control thread handles these messages
            case Start() | TriggerCheckpoint() | NotifyCheckpointPublished() | NotifyCheckpointAborted() | AssignSplit():
                deployment = self._deployment
                if deployment is not None and not deployment.failed and message.generation == deployment.generation:
                    self._fail_on_error(lambda: self._on_current(deployment, message), deployment.generation)

    def on_frame(self, frame: Frame) -> None:
        deployment = self._deployment
        if deployment is None or frame.generation != deployment.generation or deployment.failed:
            return
        if frame.kind is CREDIT:
            output = deployment.remote_outputs.get(frame.channel)
            if output is not None:
                self._fail_on_error(lambda: output.on_credit(frame.argument), deployment.generation)
            return
        channel = deployment.inputs.get(frame.channel)
        if channel is None:
            reason = f"received a frame for channel {frame.channel}, whose receiving subtask is not in this slot"
            self._fail(ProtocolError(reason), None)
        else:
            channel.push(frame)

    def on_peer_lost(self, slot: int, reason: str) -> None:
        """Fail the deployment, because frames in transit are lost and are not sent again.

        If the peer is still alive, only the slots of the lost connection can report the loss.
        """
        if self._deployment is not None and not self._deployment.failed:
            self._fail(SlotError(f"the data connection to slot {slot} was lost: {reason}"), None)

    def _on_current(
        self,
        deployment: SlotDeployment,
        message: Start | TriggerCheckpoint | NotifyCheckpointPublished | NotifyCheckpointAborted | AssignSplit,
    ) -> None:
        match message:
            case Start():
                deployment.running = True
            case TriggerCheckpoint(_, checkpoint):
                deployment.checkpoints.triggered(checkpoint, self._environment.monotonic_ns())
                for source in self._sources(deployment):
                    source.trigger(checkpoint)
            case AssignSplit(_, operator, subtask, split, precedes):
                for source in self._sources(deployment):
                    if source.uid == operator and source.subtask.index == subtask:
                        source.assign(split, precedes)
            case NotifyCheckpointPublished(_, checkpoint):
                for runtime in deployment.subtasks:
                    for operator_object in runtime.chain.operators:
                        operator_object.on_checkpoint_published(checkpoint)
            case NotifyCheckpointAborted(_, checkpoint):
                self._abort_checkpoint(deployment, checkpoint)

    def _abort_checkpoint(self, deployment: SlotDeployment, checkpoint: CheckpointId) -> None:
        deployment.checkpoints.abort(checkpoint)
        for runtime in deployment.subtasks:
            runtime.on_aborted(checkpoint)
            for operator in runtime.chain.operators:
                operator.on_checkpoint_aborted(checkpoint)

    @staticmethod
    def _sources(deployment: SlotDeployment) -> list[SourceSubtask]:
        return [runtime for runtime in deployment.subtasks if isinstance(runtime, SourceSubtask)]

    # ---- the turn --------------------------------------------------------------------------------

    def turn(self) -> bool:
        """Do a bounded amount of work.

        Return False if no work was due. If ``turn`` returns False, no work is due until a message or frame arrives, or until
        ``wake_at_ns``.
        """
        if self._cancelled is not None:
            self._answer_cancel(self._cancelled)
        deployment = self._deployment
        if deployment is None or deployment.failed:
            return False
        try:
            return self._turn(deployment)
        except Exception as error:  # noqa: BLE001  # a raised error would end the process and hide its cause
            self._fail(error, None)
            return True

    def _turn(self, deployment: SlotDeployment) -> bool:
        if deployment.restore is not None:
            self._report_restore(deployment, deployment.restore)
        elif not deployment.announced and self._environment.channels_ready():
            deployment.announced = True
            self._environment.send_control(Deployed(deployment.generation))
        if not deployment.running:
            return False
        worked = not deployment.checkpoints.is_idle and self._snapshot_work(deployment)
        chosen, others = self._choose(deployment)
        if chosen is None:
            return worked or self._flush(deployment, self._environment.monotonic_ns(), self._flush_at_ns(deployment))
        try:
            now_ns = self._step(chosen)
            idle = not others and chosen.work(now_ns) is NONE
        except Exception as error:  # noqa: BLE001  # any error fails the subtask, not the loop
            self._fail(error, chosen.subtask, deployment.generation)
            return True
        if idle:
            self._flush(deployment, now_ns, self._flush_at_ns(deployment))
        elif now_ns - self._flushed_ns > FLUSH_AGE_NS // 4:
            self._flushed_ns = now_ns
            self._flush(deployment, now_ns, lambda outputs: _age_at_ns(outputs, FLUSH_AGE_NS))
        return True

    @staticmethod
    def _flush_at_ns(deployment: SlotDeployment) -> Callable[[Outputs], int | None]:
        """Return a function that returns when to send pending rows while the slot is idle."""
        if not deployment.buffer_ns and any(runtime.aligning for runtime in deployment.subtasks):
            return lambda outputs: _age_at_ns(outputs, ALIGNING_FLUSH_AGE_NS)
        return Outputs.flush_at_ns

    def wake_at_ns(self) -> int | None:
        deployment = self._deployment
        if deployment is None or deployment.failed:
            return None
        if deployment.restore is not None:
            return deployment.restore.report_at_ns
        if not deployment.running:
            return None
        earliest_ns = deployment.checkpoints.wake_at_ns()
        flush_at_ns = self._flush_at_ns(deployment)
        for runtime in deployment.subtasks:
            for at_ns in (runtime.wake_at_ns(), flush_at_ns(runtime.outputs)):
                if at_ns is not None and (earliest_ns is None or at_ns < earliest_ns):
                    earliest_ns = at_ns
        return earliest_ns

    def nap_ns(self, *, worked: bool) -> int:
        """Return how long the loop sleeps after frames have arrived, before it reads its sockets again. ``worked``: whether the frames gave work.

        While a subtask waits for the batches or barriers of many slots, a wake-up for each of them would cost more than reading it.
        """
        deployment = self._deployment
        if deployment is None:
            return 0
        many = deployment.graph.slots >= NAP_SLOTS_MIN
        if not any((runtime.aligning and many) or (runtime.is_waiting and not worked) for runtime in deployment.subtasks):
            return 0
        return min(deployment.buffer_ns, BUFFER_MS_MAX * 1_000_000) // NAP_PARTS

    def _choose(self, deployment: SlotDeployment) -> tuple[SubtaskRuntime | None, bool]:
        """Return the next subtask to run, or None, and whether other subtasks can run too."""
        now_ns = self._environment.monotonic_ns()
        while self._queue and now_ns < self._scan_at_ns:
            runtime = self._queue.popleft()
            if runtime.work(now_ns) is not NONE and runtime.outputs.has_room():
                runtime.account.settle(RUNNABLE, now_ns, rested=False)
                return runtime, True
        return self._scan(deployment, now_ns)

    def _scan(self, deployment: SlotDeployment, now_ns: int) -> tuple[SubtaskRuntime | None, bool]:
        """Check which subtasks can run, and add the elapsed time to the busy or idle time of each subtask. Return the subtask to run
        now, or None, and whether others can run too. The others are queued.

        Control events come before batches, because a trigger or barrier that waits behind a backlog would keep the other slots
        aligning. Downstream subtasks come before upstream subtasks. Sources come last and take turns, because a source that always
        has input would otherwise keep the other sources from reading.
        """
        first: SubtaskRuntime | None = None
        runnable: list[SubtaskRuntime] = []
        sources: list[SubtaskRuntime] = []
        could_run: set[SubtaskId] = set()
        for runtime in deployment.subtasks:
            work = runtime.work(now_ns)
            if work is NONE:
                condition = IDLE
            elif work is ANY_TIME or runtime.outputs.has_room():
                condition = RUNNABLE
                (sources if runtime.takes_turns else runnable).append(runtime)
                if work is ANY_TIME and first is None:
                    first = runtime
            else:
                condition = self._condition_without_room(deployment, runtime, could_run)
            if condition is RUNNABLE or condition is QUEUED:
                could_run.add(runtime.subtask)
            if runtime.in_blocking_call:
                # A subtask in a blocking call counts as busy, even while the loop polls the call.
                condition = BLOCKING_CALL
            runtime.account.settle(condition, now_ns, rested=self._rested)
        if len(sources) > 1:
            sources.sort(key=_ran_ns)
        self._queue.clear()
        self._queue.extend(runnable)
        self._queue.extend(sources)
        count = len(self._queue)
        if first is not None:
            self._queue.clear()  # scan again after the control event, because another control event can follow
        elif self._queue:
            first = self._queue.popleft()
        self._rested = first is None
        self._scan_at_ns = now_ns + SCAN_INTERVAL * (self._environment.monotonic_ns() - now_ns)
        return first, count > 1

    @staticmethod
    def _condition_without_room(
        deployment: SlotDeployment, runtime: SubtaskRuntime, could_run: Container[SubtaskId]
    ) -> SubtaskCondition:
        """``could_run``: the downstream subtasks that can run or are queued."""
        for channel in runtime.outputs.full_channels():
            if not isinstance(channel, LocalOutput):
                return BACKPRESSURED
            consumer = SubtaskId(deployment.graph.edges[channel.channel.edge].target, channel.channel.target)
            if consumer not in could_run:
                return BACKPRESSURED
        return QUEUED

    def _step(self, runtime: SubtaskRuntime) -> int:
        """Run one step of a subtask. Return the time at its end."""
        self._environment.step_begins(runtime.subtask.chain)
        began_ns = self._environment.monotonic_ns()
        runtime.step(began_ns)
        now_ns = runtime.ran_ns = self._environment.monotonic_ns()
        runtime.account.add_busy(now_ns)
        self._busy_ns += now_ns - began_ns
        return now_ns

    def _flush(self, deployment: SlotDeployment, now_ns: int, flush_at_ns: Callable[[Outputs], int | None]) -> bool:
        """Send the pending rows that are due. ``flush_at_ns`` returns the time at which the rows of an output are due, or None."""
        flushed = False
        for runtime in deployment.subtasks:
            at_ns = flush_at_ns(runtime.outputs)
            if at_ns is not None and at_ns <= now_ns:
                try:
                    flushed |= runtime.outputs.flush(now_ns)
                except Exception as error:  # noqa: BLE001  # any error fails the subtask, not the loop
                    self._fail(error, runtime.subtask)
                    return True
        return flushed

    # ---- checkpoints -------------------------------------------------------------------------------

    def _snapshot_work(self, deployment: SlotDeployment) -> bool:
        gathering = deployment.checkpoints.gathering
        try:
            worked = deployment.checkpoints.gather(self._environment)
        except Exception as error:  # noqa: BLE001  # any error fails the subtask, not the loop
            self._fail(error, gathering.subtask if gathering is not None else None)
            return True
        due = deployment.checkpoints.due(self._environment.monotonic_ns())
        for checkpoint in sorted({local.checkpoint for local in due}):
            of_checkpoint = [local for local in due if local.checkpoint == checkpoint]
            if any(local.handles for local in of_checkpoint):
                self._write(deployment, checkpoint, of_checkpoint)
            else:
                for local in of_checkpoint:
                    local.written_ns = self._environment.monotonic_ns()
                self._report_snapshots(deployment, checkpoint, [(local, ()) for local in of_checkpoint])
        return worked or bool(due)

    def _write(self, deployment: SlotDeployment, checkpoint: CheckpointId, due: Sequence[SubtaskCheckpoint]) -> None:
        """Write all snapshots in ``due`` in one background call. One call per snapshot would be slower, because each switch
        between the loop and the snapshot thread takes time."""
        files = self._environment.snapshot_files(deployment.generation, checkpoint)

        def work() -> list[Sequence[OperatorSnapshot] | Exception]:
            results = [written(local) for local in due]
            if self._deployment is deployment:
                files.flush()
            durable_ns = self._environment.monotonic_ns()
            for local in due:
                local.written_ns = durable_ns
            return results

        def written(local: SubtaskCheckpoint) -> Sequence[OperatorSnapshot] | Exception:
            try:
                if self._deployment is not deployment:
                    raise CheckpointError("the deployment was cancelled while its snapshots were written")
                return local.write(files.writer(local.subtask))
            except Exception as error:  # noqa: BLE001  # any error makes this subtask decline the checkpoint
                return error

        def done(result: object, error: BaseException | None) -> None:
            if self._deployment is not deployment or deployment.failed:
                return
            failed = [error if local.handles else () for local in due]
            results = failed if error is not None else cast("Sequence[object]", result)
            written_or_errors = list(zip(due, results, strict=True))
            self._fail_on_error(partial(self._report_snapshots, deployment, checkpoint, written_or_errors), deployment.generation)

        deployment.background.write(work, done)

    def _report_snapshots(
        self, deployment: SlotDeployment, checkpoint: CheckpointId, results: Sequence[tuple[SubtaskCheckpoint, object]]
    ) -> None:
        """Acknowledge the snapshots that are durable, and decline the checkpoint for the others."""
        durable = []
        for local, result in results:
            if isinstance(result, BaseException):
                self._fail_on_error(local.discard, deployment.generation, local.subtask)
                if deployment.failed:
                    return
                reason = _sendable(f"{type(result).__name__}: {result}")
                self._environment.send_control(Decline(deployment.generation, checkpoint, local.subtask, reason))
                continue
            try:
                durable.append(local.snapshot(cast("Sequence[OperatorSnapshot]", result)))
            except Exception as error:  # noqa: BLE001  # any error fails the subtask, not the loop
                self._fail(error, local.subtask)
                return
        if durable:
            self._environment.send_control(Acknowledge(deployment.generation, checkpoint, tuple(durable)))

    # ---- deploying and cancelling --------------------------------------------------------------------

    def _deploy(self, message: Deploy) -> None:
        attempt = Attempt(message.generation, message.attempt)
        if attempt <= self._fenced:
            return
        self._drop_deployment()
        self._fenced = Attempt(message.generation, message.attempt - 1)
        graph = codec.from_json(PhysicalGraph, message.graph)
        deployment = self._deployment = SlotDeployment(message, graph, self._environment.open_background())
        self._environment.open_channels(message, graph)
        DeploymentBuilder(deployment, self._program, self._environment, self._settings, on_ended=self._ended).build()
        if deployment.restore is not None:
            deployment.background.write(deployment.restore.run, partial(self._restored, deployment))

    def _restored(self, deployment: SlotDeployment, _result: object, error: BaseException | None) -> None:
        if self._deployment is not deployment:
            return
        deployment.restore = None
        if error is not None:
            self._fail(error, None)

    def _report_restore(self, deployment: SlotDeployment, restore: StateRestore) -> None:
        now_ns = self._environment.monotonic_ns()
        if now_ns >= restore.report_at_ns:
            restore.report_at_ns = now_ns + self._settings.restore_report_ns
            progress = restore.progress
            message = Restoring(deployment.generation, deployment.message.slot, progress.restored_bytes, progress.total_bytes)
            self._environment.send_control(message)

    def _ended(self, subtask: SubtaskId) -> None:
        assert self._deployment is not None
        # Send the final counters now, because the job can end before the next periodic report.
        metrics = self.metrics()
        if metrics is not None:
            self._environment.send_control(metrics)
        self._environment.send_control(SubtaskEnded(self._deployment.generation, subtask))

    def _cancel(self, attempt: Attempt) -> None:
        deployment = self._deployment
        if deployment is not None and Attempt(deployment.generation, deployment.message.attempt) <= attempt:
            self._drop_deployment()
        self._fenced = max(self._fenced, attempt)
        self._answer_cancel(attempt.generation)

    def _answer_cancel(self, generation: Generation) -> None:
        """Send Cancelled if all background calls have ended. If a call is still running, store the generation, so that a later
        turn can send Cancelled.

        A running call still uses memory and a thread of the slot, and can have effects during the next generation. So the slot
        must not become free before all calls have ended. If a call never ends, the coordinator replaces the slot.
        """
        self._cancelled = None if self.close_earlier_deployments() else generation
        if self._cancelled is None:
            self._environment.send_control(Cancelled(generation))

    def _drop_deployment(self) -> None:
        deployment, self._deployment = self._deployment, None
        self._queue.clear()
        if deployment is None:
            return
        self._environment.close_channels()
        deployment.background.cancel_queued()
        deployment.checkpoints.discard_all()
        running = deployment.restore.operators if deployment.restore is not None else ()
        if deployment.restore is not None:
            deployment.restore.progress.cancelled = True
        self._close(part for part in deployment.parts if part not in running)
        deployment.background.close()
        self._closing.append(deployment)

    @staticmethod
    def _close(parts: Iterable[Operator | SourceOperator]) -> None:
        for part in parts:
            with contextlib.suppress(Exception):  # the operator is dropped, so a failing close has no effect
                part.close()

    # ---- failures ------------------------------------------------------------------------------------

    def _fail_on_error(self, work: Callable[[], None], generation: Generation, subtask: SubtaskId | None = None) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # any error fails the subtask, not the loop
            self._fail(error, subtask, generation)

    def _fail(self, error: BaseException, subtask: SubtaskId | None, generation: Generation | None = None) -> None:
        """Stop all work for this generation and report the failure. The coordinator decides how to recover."""
        if self._deployment is not None:
            self._deployment.failed = True
            generation = self._deployment.generation
        if generation is None:
            return
        restartable = not isinstance(error, WeirError) or error.retry is Retry.BACKOFF
        reason = str(error) if isinstance(error, WeirError) else f"{type(error).__name__}: {error}{_raised_at(error)}"
        self._environment.send_control(
            SubtaskFailed(generation, subtask, type(error).__name__, _sendable(without_secrets(reason)), restartable)
        )

    def metrics(self) -> SlotMetrics | None:
        deployment = self._deployment
        if deployment is None or not deployment.running:
            return None
        return slot_metrics(deployment, rss_bytes=self._environment.rss_bytes(), loop_busy_ns=self._busy_ns)


def _ran_ns(runtime: SubtaskRuntime) -> int:
    return runtime.ran_ns


def _age_at_ns(outputs: Outputs, age_ns: int) -> int | None:
    """Return the time at which the pending rows have the given age, or None if no rows are pending."""
    return None if outputs.pending_since_ns is None else outputs.pending_since_ns + age_ns


def _sendable(reason: str) -> str:
    """Return ``reason`` as valid UTF-8 (file names can contain surrogates), shortened to fit into a message."""
    short = reason if len(reason) <= _REASON_CHARS_MAX else f"{reason[:_REASON_CHARS_MAX]}..."
    return short.encode(errors="backslashreplace").decode()


def _raised_at(error: BaseException) -> str:
    """Return the locations in the code from which an unexpected error was raised, or an empty string."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    frames_text = [f"{frame.filename.rpartition('/weir/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return f" ({' > '.join(frames_text)})" if frames_text else ""
