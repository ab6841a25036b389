"""The runtime of one slot: one subtask of (nearly) every chain, one loop, no locks. Sans-IO: see ports.py.

Feed it control messages and frames, and call ``turn`` again and again. Each turn does a bounded amount
of work; what it wants done outside goes through the ports. Order of service: snapshots being gathered,
then marks (triggers, barriers), then batches; among these downstream subtasks first, sources last.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from weir.errors import ProtocolError, Retry, SlotError, WeirError
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import CheckpointId, Generation, SubtaskId
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancel,
    Cancelled,
    CheckpointAborted,
    CheckpointCompleted,
    Decline,
    Deploy,
    Deployed,
    Lease,
    SlotMetrics,
    Start,
    Stop,
    SubtaskEnded,
    SubtaskFailed,
    ToSlot,
    TriggerCheckpoint,
)
from weir.protocol.snapshots import OperatorSnapshot
from weir.subtask.accounting import Condition
from weir.subtask.channels import LocalOutput
from weir.subtask.checkpointing import LocalCheckpoint
from weir.subtask.deployment import Deployment, DeploymentBuilder, SlotSettings
from weir.subtask.metrics import slot_metrics
from weir.subtask.ports import Program, SlotPorts
from weir.subtask.source import SourceSubtask
from weir.subtask.subtask import SubtaskRuntime, Work

FLUSH_AGE_NS = 100_000_000
"""Rows held back in a partitioner under load go out after this long; when the slot is idle, at once."""
ALIGNING_FLUSH_AGE_NS = 20_000_000
"""The same when a slot is idle because its subtasks align: the barrier takes the rows along, and scraps cost as whole batches do."""
_REASON_CHARS_MAX = 20_000


class SlotRuntime:
    def __init__(self, program: Program, ports: SlotPorts, settings: SlotSettings) -> None:
        self._program = program
        self._ports = ports
        self._settings = settings
        self._deployment: Deployment | None = None
        self._fenced = Generation(0)
        """Nothing of this generation or an older one may have an effect here any more."""
        self._busy_ns = 0
        self._rested = True
        """Nobody had anything to do when it was looked last."""
        self._flushed_ns = 0
        self.stop_reason: str | None = None

    @property
    def generation(self) -> Generation | None:
        return self._deployment.generation if self._deployment is not None else None

    # ---- what arrives --------------------------------------------------------------------------

    def on_control(self, message: ToSlot) -> None:
        match message:
            case Deploy():
                self._guard(lambda: self._deploy(message), message.generation)
            case Cancel(generation):
                self._cancel(generation)
            case Stop(reason):
                self._drop()
                self.stop_reason = reason
            case Lease():
                pass
            case Start() | TriggerCheckpoint() | CheckpointCompleted() | CheckpointAborted() | AssignSplit():
                deployment = self._deployment
                if deployment is not None and not deployment.failed and message.generation == deployment.generation:
                    self._guard(lambda: self._on_current(deployment, message), deployment.generation)

    def on_frame(self, frame: Frame) -> None:
        deployment = self._deployment
        if deployment is None or frame.generation != deployment.generation or deployment.failed:
            return
        if frame.kind is FrameKind.CREDIT:
            output = deployment.remote_outputs.get(frame.channel)
            if output is not None:
                self._guard(lambda: output.on_credit(frame.argument), deployment.generation)
            return
        channel = deployment.inputs.get(frame.channel)
        if channel is None:
            self._fail(ProtocolError(f"frame for channel {frame.channel}, which does not end here"), None)
        else:
            channel.push(frame)

    def on_peer_lost(self, slot: int, reason: str) -> None:
        """What was on its way is lost, and nobody sends it again. If the peer is alive, nobody but its neighbours can know."""
        if self._deployment is not None and not self._deployment.failed:
            self._fail(SlotError(f"the data connection to slot {slot} was lost: {reason}"), None)

    def _on_current(
        self,
        deployment: Deployment,
        message: Start | TriggerCheckpoint | CheckpointCompleted | CheckpointAborted | AssignSplit,
    ) -> None:
        match message:
            case Start():
                deployment.running = True
            case TriggerCheckpoint(_, checkpoint):
                deployment.checkpoints.triggered(checkpoint, self._ports.monotonic_ns())
                for source in self._sources(deployment):
                    source.trigger(checkpoint)
            case AssignSplit(_, operator, subtask, split, precedes):
                for source in self._sources(deployment):
                    if source.uid == operator and source.subtask.index == subtask:
                        source.assign(split, precedes)
            case CheckpointCompleted(_, checkpoint):
                for runtime in deployment.subtasks:
                    for operator_object in runtime.chain.operators:
                        operator_object.on_checkpoint_completed(checkpoint)
                    if isinstance(runtime, SourceSubtask):
                        runtime.source.on_checkpoint_completed(checkpoint)
            case CheckpointAborted(_, checkpoint):
                self._abort_checkpoint(deployment, checkpoint)

    def _abort_checkpoint(self, deployment: Deployment, checkpoint: CheckpointId) -> None:
        deployment.checkpoints.abort(checkpoint)
        for runtime in deployment.subtasks:
            runtime.on_aborted(checkpoint)
            for operator in runtime.chain.operators:
                operator.on_checkpoint_aborted(checkpoint)

    @staticmethod
    def _sources(deployment: Deployment) -> list[SourceSubtask]:
        return [runtime for runtime in deployment.subtasks if isinstance(runtime, SourceSubtask)]

    # ---- the turn --------------------------------------------------------------------------------

    def turn(self) -> bool:
        """Returns whether anything was done; if not, nothing can be until something arrives or ``wake_at_ns``."""
        deployment = self._deployment
        if deployment is None or deployment.failed:
            return False
        try:
            return self._turn(deployment)
        except Exception as error:  # noqa: BLE001  # raised, it would end the process, and its cause with it
            self._fail(error, None)
            return True

    def _turn(self, deployment: Deployment) -> bool:
        if not deployment.announced and self._ports.channels_ready():
            deployment.announced = True
            self._ports.send_control(Deployed(deployment.generation))
        if not deployment.running:
            return False
        worked = self._snapshot_work(deployment)
        chosen = self._choose(deployment)
        if chosen is not None:
            self._guard(lambda: self._step(chosen), deployment.generation, chosen.subtask)
            now_ns = self._ports.monotonic_ns()
            if now_ns - self._flushed_ns > FLUSH_AGE_NS // 4:
                self._flushed_ns = now_ns
                self._flush(deployment, older_than_ns=now_ns - FLUSH_AGE_NS)
            return True
        if not worked:
            aligning = any(runtime.aligning for runtime in deployment.subtasks)
            older_than_ns = self._ports.monotonic_ns() - ALIGNING_FLUSH_AGE_NS if aligning else None
            worked = self._flush(deployment, older_than_ns=older_than_ns)
        return worked

    def wake_at_ns(self) -> int | None:
        deployment = self._deployment
        if deployment is None or not deployment.running or deployment.failed:
            return None
        waits = [deployment.checkpoints.wake_at_ns()]
        for runtime in deployment.subtasks:
            waits.append(runtime.wake_at_ns())
            if runtime.outputs.pending_since_ns is not None:
                waits.append(runtime.outputs.pending_since_ns + ALIGNING_FLUSH_AGE_NS)
        return min((at_ns for at_ns in waits if at_ns is not None), default=None)

    def _choose(self, deployment: Deployment) -> SubtaskRuntime | None:
        """The first that can run, downstream first; on the way every subtask's waiting time is booked.

        Marks come before batches: a trigger or barrier that waits behind a slot's backlog keeps the other slots aligning.
        """
        now_ns = self._ports.monotonic_ns()
        chosen: SubtaskRuntime | None = None
        chosen_for = Work.NONE
        conditions: dict[SubtaskId, Condition] = {}
        for runtime in deployment.subtasks:
            work = runtime.work(now_ns)
            if work is Work.NONE:
                condition = Condition.IDLE
            elif work is Work.ANY_TIME or runtime.outputs.has_room():
                condition = Condition.RUNNABLE
                if chosen is None or (work is Work.ANY_TIME and chosen_for is not Work.ANY_TIME):
                    chosen, chosen_for = runtime, work
            else:
                condition = self._why_no_room(deployment, runtime, conditions)
            if runtime.works_beside:
                # Whether it is just being asked how far that is makes no difference.
                condition = Condition.BESIDE
            conditions[runtime.subtask] = condition
            runtime.account.settle(condition, now_ns, rested=self._rested)
        self._rested = chosen is None
        return chosen

    @staticmethod
    def _why_no_room(deployment: Deployment, runtime: SubtaskRuntime, conditions: dict[SubtaskId, Condition]) -> Condition:
        could_run = (Condition.RUNNABLE, Condition.QUEUED)
        for channel in runtime.outputs.lacking():
            if not isinstance(channel, LocalOutput):
                return Condition.BACKPRESSURED
            consumer = SubtaskId(deployment.graph.edges[channel.channel.edge].target, channel.channel.target)
            if conditions.get(consumer) not in could_run:
                return Condition.BACKPRESSURED
        return Condition.QUEUED

    def _step(self, runtime: SubtaskRuntime) -> None:
        began_ns = self._ports.monotonic_ns()
        runtime.step(began_ns)
        now_ns = self._ports.monotonic_ns()
        runtime.account.ran(now_ns)
        self._busy_ns += now_ns - began_ns

    def _flush(self, deployment: Deployment, older_than_ns: int | None) -> bool:
        flushed = False
        for runtime in deployment.subtasks:
            pending_since_ns = runtime.outputs.pending_since_ns
            if pending_since_ns is not None and (older_than_ns is None or pending_since_ns <= older_than_ns):
                try:
                    flushed |= runtime.outputs.flush()
                except Exception as error:  # noqa: BLE001  # whatever it is fails the subtask, not the loop
                    self._fail(error, runtime.subtask)
                    return True
        return flushed

    # ---- checkpoints -------------------------------------------------------------------------------

    def _snapshot_work(self, deployment: Deployment) -> bool:
        gathering = deployment.checkpoints.gathering
        try:
            worked = deployment.checkpoints.gather(self._ports)
        except Exception as error:  # noqa: BLE001  # whatever it is fails the subtask, not the loop
            self._fail(error, gathering.subtask if gathering is not None else None)
            return True
        due = deployment.checkpoints.due(self._ports.monotonic_ns())
        for local in due:
            if not local.handles:
                local.written_ns = self._ports.monotonic_ns()
                self._acknowledge(deployment, local, ())
        to_write = [local for local in due if local.handles]
        for checkpoint in sorted({local.checkpoint for local in to_write}):
            self._write(deployment, checkpoint, [local for local in to_write if local.checkpoint == checkpoint])
        return worked or bool(due)

    def _write(self, deployment: Deployment, checkpoint: CheckpointId, due: Sequence[LocalCheckpoint]) -> None:
        """One after the other, in one go: each time the writer and the loop change places costs both of them."""
        files = self._ports.snapshot_files(deployment.generation, checkpoint)

        def work() -> list[Sequence[OperatorSnapshot] | Exception]:
            results = [written(local) for local in due]
            files.flush()
            durable_ns = self._ports.monotonic_ns()
            for local in due:
                local.written_ns = durable_ns
            return results

        def written(local: LocalCheckpoint) -> Sequence[OperatorSnapshot] | Exception:
            try:
                return local.write(files.writer(local.subtask))
            except Exception as error:  # noqa: BLE001  # whatever it is declines the checkpoint, in the name of this subtask
                return error

        def done(result: object, error: BaseException | None) -> None:
            if self._deployment is not deployment or deployment.failed:
                return
            results = cast("Sequence[object]", result) if error is None else [error] * len(due)
            for local, one in zip(due, results, strict=True):
                if deployment.failed:
                    return
                self._guard(partial(self._answer, deployment, local, one), deployment.generation, local.subtask)

        self._ports.background(work, done)

    def _answer(self, deployment: Deployment, local: LocalCheckpoint, result: object) -> None:
        if isinstance(result, BaseException):
            local.discard()
            reason = _sendable(f"{type(result).__name__}: {result}")
            self._ports.send_control(Decline(deployment.generation, local.checkpoint, local.subtask, reason))
        else:
            self._acknowledge(deployment, local, cast("Sequence[OperatorSnapshot]", result))

    def _acknowledge(self, deployment: Deployment, local: LocalCheckpoint, written: Sequence[OperatorSnapshot]) -> None:
        self._ports.send_control(Acknowledge(deployment.generation, local.checkpoint, local.snapshot(written)))

    # ---- deploying and cancelling --------------------------------------------------------------------

    def _deploy(self, message: Deploy) -> None:
        if message.generation <= self._fenced:
            return
        self._drop()
        self._fenced = Generation(message.generation - 1)
        self._deployment = Deployment(message, codec.from_json(PhysicalGraph, message.graph))
        self._ports.open_channels(message, self._deployment.graph)
        DeploymentBuilder(self._deployment, self._program, self._ports, self._settings, on_ended=self._ended).build()

    def _ended(self, subtask: SubtaskId) -> None:
        assert self._deployment is not None
        # The counters are final now, and the job may be over before they would be sent again.
        metrics = self.metrics()
        if metrics is not None:
            self._ports.send_control(metrics)
        self._ports.send_control(SubtaskEnded(self._deployment.generation, subtask))

    def _cancel(self, generation: Generation) -> None:
        if self._deployment is not None and self._deployment.generation <= generation:
            self._drop()
        self._fenced = max(self._fenced, generation)
        self._ports.send_control(Cancelled(generation))

    def _drop(self) -> None:
        deployment, self._deployment = self._deployment, None
        if deployment is None:
            return
        self._ports.close_channels()
        deployment.checkpoints.discard_all()
        for part in deployment.parts:
            with contextlib.suppress(Exception):  # what fails to close has no further use either
                part.close()

    # ---- failures ------------------------------------------------------------------------------------

    def _guard(self, work: Callable[[], None], generation: Generation, subtask: SubtaskId | None = None) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # whatever it is fails the subtask, not the loop
            self._fail(error, subtask, generation)

    def _fail(self, error: BaseException, subtask: SubtaskId | None, generation: Generation | None = None) -> None:
        """The whole slot stops working for this generation; the coordinator decides what follows."""
        if self._deployment is not None:
            self._deployment.failed = True
            generation = self._deployment.generation
        if generation is None:
            return
        restartable = not isinstance(error, WeirError) or error.retry is Retry.BACKOFF
        reason = str(error) if isinstance(error, WeirError) else f"{type(error).__name__}: {error}{_raised_at(error)}"
        self._ports.send_control(SubtaskFailed(generation, subtask, type(error).__name__, _sendable(reason), restartable))

    def metrics(self) -> SlotMetrics | None:
        deployment = self._deployment
        if deployment is None or not deployment.running:
            return None
        return slot_metrics(deployment, rss_bytes=self._ports.rss_bytes(), loop_busy_ns=self._busy_ns)


def _sendable(reason: str) -> str:
    """What says why must arrive: not too long for a message, nor with halves of characters (names of files may have them)."""
    short = reason if len(reason) <= _REASON_CHARS_MAX else f"{reason[:_REASON_CHARS_MAX]}..."
    return short.encode(errors="backslashreplace").decode()


def _raised_at(error: BaseException) -> str:
    """Of an error that nobody foresaw, where it came up is all there is to go by."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = [f"{frame.filename.rpartition('/weir/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return f" ({' > '.join(places)})" if places else ""
