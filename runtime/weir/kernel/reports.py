"""What the job master tells people and the control plane, in words."""

from __future__ import annotations

from weir.kernel.checkpoints import CheckpointKind, PendingCheckpoint
from weir.kernel.effects import Report, ReportKind
from weir.protocol.ids import CheckpointId, Generation


def failure(generation: Generation, reason: str) -> Report:
    return Report(ReportKind.FAILURE, reason, generation=generation)


def recovered(generation: Generation, checkpoint: CheckpointId | None, *, took_ms: int) -> Report:
    text = f"running again from checkpoint {'none' if checkpoint is None else checkpoint}"
    return Report(ReportKind.RECOVERED, text, generation=generation, value_ms=took_ms)


def triggered(checkpoint: CheckpointId, kind: CheckpointKind) -> Report:
    return Report(ReportKind.CHECKPOINT_TRIGGERED, kind, checkpoint=checkpoint)


def completed(generation: Generation, pending: PendingCheckpoint, *, now_ms: int) -> Report:
    """With how long it took from its trigger on."""
    return Report(
        ReportKind.CHECKPOINT_COMPLETED,
        pending.kind,
        checkpoint=pending.checkpoint,
        generation=generation,
        pending=pending,
        value_ms=now_ms - pending.triggered_ms,
    )


def aborted(checkpoint: CheckpointId, reason: str) -> Report:
    return Report(ReportKind.CHECKPOINT_ABORTED, reason, checkpoint=checkpoint)


def gave_up(restarts: int, reason: str) -> str:
    return f"gave up after {restarts} restarts without a completed checkpoint; the last failure: {reason}"


def too_few_slots(wanted: int, registered: int, *, waited_ms: int, last_loss: str | None) -> str:
    """``last_loss``: what Spark said of the last slot that ended early."""
    few = f"the job needs {wanted} slots and {registered} registered within {waited_ms // 1000} s: "
    if last_loss is not None:
        return f"{few}Spark started others, which ended early; of the last one it says: {last_loss}"
    return f"{few}give Spark at least {wanted} free cores, or lower the parallelism"
