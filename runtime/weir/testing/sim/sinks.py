"""The operators that verify exactly-once: an order-sensitive fold by key, and a two-phase-commit sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from weir.connectors.base import Ancestry, Committer, Epochs, MissingOutput, PendingCommit, SinkWriter, is_ancestor
from weir.errors import SinkError, StorageError
from weir.kernel.checkpoints import CommitPermit
from weir.operators.base import Batch, Operator, OperatorContext, PendingSnapshot, SnapshotReader, Step
from weir.protocol.ids import Attempt, CheckpointId, Generation
from weir.protocol.snapshots import Committable, JsonValue, OperatorSnapshot
from weir.testing.sim.operators import DelayedSnapshot, sliced
from weir.testing.sim.records import Identity, SimBatch, SimRow, Stamp, chain_hash, key_group, key_of, through
from weir.testing.sim.simulation import Simulation
from weir.testing.sim.storage import SimStorage, StoragePort


@dataclass(frozen=True, slots=True)
class Folded:
    """State of one key: the hash chain over all received records, and the records, for verification."""

    hash: int
    arrived: tuple[Identity, ...]


class SimFold(Operator):
    """Stamps every record with its number within its key and the hash chain."""

    def __init__(self, simulation: Simulation, *, divisor: int, rows_max: int, row_bytes: int) -> None:
        self._simulation = simulation
        self._divisor = divisor
        self._rows_max = rows_max
        self._row_bytes = row_bytes
        self._state: dict[int, Folded] = {}

    def process(self, batch: Batch, input_index: int) -> Step:
        assert isinstance(batch, SimBatch)
        out = []
        first, last = self.context.key_groups
        for row in batch.rows:
            key = key_of(row.identity, self._divisor)
            group = key_group(key, self.context.max_parallelism)
            assert first <= group <= last, f"key {key} of group {group} arrived at the subtask of groups {first} to {last}"
            before = self._state.get(key) or Folded(0, ())
            after = self._state[key] = Folded(chain_hash(before.hash, row.identity), (*before.arrived, row.identity))
            stamp = Stamp(self.context.uid, key, len(after.arrived), after.hash)
            out.append(SimRow(through(row.identity, self.context.uid), (*row.stamps, stamp)))
        yield from sliced(out, self._rows_max, self._row_bytes)

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot:
        by_group = sorted((key_group(key, self.context.max_parallelism), key, folded) for key, folded in self._state.items())
        cut = int(self._simulation.random.random() * (len(by_group) + 1))
        parts = []
        for part in (by_group[:cut], by_group[cut:]):
            groups = (part[0][0], part[-1][0]) if part else None
            parts.append((groups, tuple((key, folded) for _, key, folded in part)))
        return DelayedSnapshot(self._simulation, self.context.uid, self.context.subtask, parts)

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        first, last = self.context.key_groups
        for snapshot in snapshots:
            for file in snapshot.files:
                with reader.open(file) as content:
                    for key, folded in cast("tuple[tuple[int, Folded], ...]", content):
                        if first <= key_group(key, self.context.max_parallelism) <= last:
                            assert key not in self._state, f"key {key} is in two files of one checkpoint"
                            self._state[key] = folded


STAGE_ATTEMPTS_MAX = 3


class SimSinkWriter(SinkWriter):
    """Stages one object for each epoch, in the background."""

    def __init__(self, storage: SimStorage, port: StoragePort) -> None:
        self._storage = storage
        self._port = port
        self._rows: list[SimRow] = []

    def open(self, context: OperatorContext) -> None:
        self._context = context

    def write(self, batch: Batch) -> None:
        assert isinstance(batch, SimBatch)
        self._rows += [row._replace(identity=through(row.identity, self._context.uid)) for row in batch.rows]

    def pre_commit(self, checkpoint: CheckpointId) -> PendingCommit | None:
        if not self._rows:
            return None
        rows, self._rows = tuple(self._rows), []
        context = self._context
        prefix = f"staged/{context.uid}/g{context.generation}-c{checkpoint}-w{context.subtask}"
        path = self._storage.unique_name(prefix)
        committable = Committable(
            context.job, context.uid, context.generation, checkpoint, context.subtask, path, context.attempt
        )
        return _SimEpoch(self._storage, self._port, committable, path, rows)


class _SimEpoch:
    def __init__(
        self, storage: SimStorage, port: StoragePort, committable: Committable, path: str, rows: tuple[SimRow, ...]
    ) -> None:
        self._storage = storage
        self._port = port
        self._committable = committable
        self._path = path
        self._rows = rows
        self._staged = False

    def finish(self) -> Sequence[JsonValue]:
        for attempt in range(STAGE_ATTEMPTS_MAX):
            if self._staged:
                break
            try:
                self._port.call(lambda: self._storage.stage(self._path, self._committable, self._rows))
                self._staged = True
            except StorageError:
                if attempt == STAGE_ATTEMPTS_MAX - 1:
                    raise
        return [self._path]


class SimCommitter(Committer):
    """Publishes each epoch in one atomic step. Revokes and reinstates one object after the other."""

    revocable = True

    def __init__(self, uid: str, storage: SimStorage, port: StoragePort) -> None:
        self._uid = uid
        self._storage = storage
        self._port = port

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        for committable in committables:
            assert committable.checkpoint <= permit.checkpoint, f"{committable} is not covered by {permit}"
        paths = [str(committable.payload) for committable in committables]
        missing = self._port.call(lambda: self._storage.publish(paths, permit.generation))
        if missing:
            raise SinkError(f"{missing[0]} is neither staged nor published")

    def published(self, *, job: str, sink: str, history: str | None = None) -> frozenset[tuple[Generation, CheckpointId]]:
        def listed() -> frozenset[tuple[Generation, CheckpointId]]:
            found = [staged.committable for staged in (*self._storage.published.values(), *self._storage.taken.values())]
            pairs = {(one.generation, one.checkpoint) for one in found if one.sink == self._uid}
            return frozenset(pairs | {(self._storage.fenced_by, CheckpointId(0))})

        return self._port.call(listed)

    def abort_after(self, checkpoint: CheckpointId, *, before: Attempt) -> None:
        self._port.call(lambda: self._storage.fence(before.generation))

        def doomed(committable: Committable) -> bool:
            return committable.sink == self._uid and committable.generation < before.generation

        self._port.call(lambda: self._storage.discard_staged(doomed))

    def discard(self, writer: int, attempt: Attempt, *, after: CheckpointId) -> None:
        def doomed(one: Committable) -> bool:
            is_older = one.generation == attempt.generation and one.attempt < attempt.number
            return one.sink == self._uid and one.writer == writer and is_older and one.checkpoint > after

        self._port.call(lambda: self._storage.discard_staged(doomed))

    def revoke(self, epochs: Epochs, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        self._port.call(lambda: self._storage.fence(before.generation))
        listed = {str(committable.payload): committable for epoch in epochs.values() for committable in epoch}
        published = {path: staged.committable for path, staged in self._storage.published.items()}
        for path, committable in {**published, **listed}.items():
            is_kept = is_ancestor(ancestry, generation=committable.generation, checkpoint=committable.checkpoint)
            if committable.sink == self._uid and not is_kept and committable.generation < before.generation:
                self._port.call(partial(self._storage.revoke, path, branch, before.generation))
        return ()

    def reinstate(self, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        self._port.call(lambda: self._storage.fence(before.generation))
        for path, (_, staged) in tuple(self._storage.revoked.items()):
            committable = staged.committable
            is_kept = is_ancestor(ancestry, generation=committable.generation, checkpoint=committable.checkpoint)
            if committable.sink == self._uid and is_kept:
                self._port.call(partial(self._storage.reinstate, path, before.generation))
        return ()
