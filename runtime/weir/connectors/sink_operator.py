"""The operator that calls the writer of a sink. A sink operator is always the last operator of its chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa

from weir.connectors.base import PendingCommit, SinkWriter
from weir.connectors.transient_errors import retry_policy
from weir.errors import SinkError, WeirError
from weir.operators.base import Operator, OperatorContext, PendingSnapshot, SnapshotReader, SnapshotWriter, Step
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import Committable, JsonValue, OperatorSnapshot

T = TypeVar("T")


class SinkOperator(Operator):
    """Calls the writer of a sink. Until the output of an epoch is published, every snapshot includes the committables of the
    epoch.

    The records of an epoch must be committed even if the first checkpoint after the epoch is aborted. Therefore, each later
    snapshot includes the committables of the epoch again, until the job log records their publication. As a result, a manifest
    can also list committables of earlier checkpoints. The coordinator commits only the committables that are not published
    yet."""

    def __init__(self, writer: SinkWriter) -> None:
        self._writer = writer
        self._unconfirmed: list[tuple[CheckpointId, PendingCommit]] = []
        self._failure: SinkError | None = None

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._guarded(lambda: self._writer.open(context), "open")

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        while not self._writer.ready():
            self._check()
            yield None
        self._check()
        self._guarded(lambda: self._writer.write(batch), "write")

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot | None:
        self._check()
        epoch = self._guarded(lambda: self._writer.pre_commit(checkpoint), "pre-commit")
        if epoch is not None:
            self._unconfirmed.append((checkpoint, epoch))
        state = self._writer.state()
        if not self._unconfirmed and state is None:
            return None
        return _PendingSink(self, tuple(self._unconfirmed), state)

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        states = [snapshot.inline for snapshot in snapshots if snapshot.inline is not None]
        if states:
            self._writer.restore(states)

    def on_checkpoint_published(self, checkpoint: CheckpointId) -> None:
        self._unconfirmed = [(epoch, pending) for epoch, pending in self._unconfirmed if epoch > checkpoint]

    def close(self) -> None:
        self._writer.close()

    def finish(self, epochs: Sequence[tuple[CheckpointId, PendingCommit]]) -> tuple[Committable, ...]:
        """Finish the pre-commit of ``epochs`` and return the committables. The snapshot thread calls this method.

        If the pre-commit of an epoch fails, the checkpoint fails. The operator cannot stage the records of the epoch again.
        Therefore, after a failed pre-commit, the next call of ``process`` or ``snapshot`` fails the subtask."""
        context = self.context
        committables: list[Committable] = []
        for checkpoint, epoch in epochs:
            try:
                payloads = epoch.finish()
            except Exception as error:
                self._failure = self._sink_error("pre-commit", error)
                raise self._failure from error
            committables += [
                Committable(context.job, context.uid, context.generation, checkpoint, context.subtask, payload, context.attempt)
                for payload in payloads
            ]
        return tuple(committables)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _guarded(self, call: Callable[[], T], action: str) -> T:
        try:
            return call()
        except Exception as error:
            raise self._sink_error(action, error) from error

    def _sink_error(self, action: str, error: Exception) -> SinkError:
        reason = str(error) if isinstance(error, WeirError) else f"{type(error).__name__}: {error}"
        retry = error.retry if isinstance(error, WeirError) else retry_policy(error)
        return SinkError(f"sink {self.context.uid!r} could not {action}: {reason}", retry=retry)


class _PendingSink(PendingSnapshot):
    def __init__(self, sink: SinkOperator, epochs: Sequence[tuple[CheckpointId, PendingCommit]], state: JsonValue) -> None:
        self._sink = sink
        self._epochs = epochs
        self._state = state

    def advance(self) -> bool:
        return True

    def write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        context = self._sink.context
        return OperatorSnapshot(context.uid, context.subtask, inline=self._state, committables=self._sink.finish(self._epochs))

    def discard(self) -> None:
        """Do nothing, because the records stay staged, and the next snapshot includes their committables again."""
