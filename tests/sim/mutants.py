"""Faults put into the production code on purpose, one at a time. The simulator must find each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import weir.kernel.job
import weir.kernel.restore
from weir.connectors.sink_operator import SinkOperator
from weir.coordinator.publishing import Publishing
from weir.graph.physical import PhysicalGraph
from weir.kernel.alignment import Aligner, AlignmentEffect
from weir.kernel.checkpoints import AllAcknowledged, CommitPermit
from weir.kernel.effects import Commit, Effect
from weir.kernel.job import JobMaster
from weir.kernel.restore import RestorePoint, SlotRestore, plan_restore
from weir.protocol.frames import Frame
from weir.protocol.ids import ChannelId, CheckpointId, Generation, SubtaskId
from weir.protocol.joblog import Entry
from weir.protocol.snapshots import Split
from weir.storage.joblog import Appended, AppendOutcome, JobLog
from weir.subtask.channels import RemoteOutput
from weir.subtask.slot import SlotRuntime
from weir.testing.sim.operators import SimSource
from weir.testing.sim.stateful import SimCommitter, SimFold
from weir.testing.sim.storage import SimStorage

Mutant = Callable[[], Any]
"""Gives a context manager; inside of it the fault is there."""
MUTANTS: dict[str, Mutant] = {}


def mutant(make: Callable[[], Iterator[None]]) -> Callable[[], Iterator[None]]:
    MUTANTS[make.__name__] = contextmanager(make)
    return make


@mutant
def skips_an_alignment() -> Iterator[None]:
    def is_blocked(self: Aligner, channel: ChannelId) -> bool:
        return False

    with patch.object(Aligner, "is_blocked", is_blocked):
        yield


@mutant
def commits_before_completion() -> Iterator[None]:
    carry_out = JobMaster._checkpoint_effects

    def effects(self: JobMaster, decided: Any, now_ms: int) -> list[Effect]:
        early: list[Effect] = []
        decisions = list(decided)
        for decision in decisions:
            if isinstance(decision, AllAcknowledged):
                permit = CommitPermit(decision.pending.checkpoint, self.generation)
                early.append(Commit(permit, decision.pending.committables()))
        return [*early, *carry_out(self, decisions, now_ms)]

    with patch.object(JobMaster, "_checkpoint_effects", effects):
        yield


@mutant
def accepts_frames_of_an_old_generation() -> Iterator[None]:
    on_frame = SlotRuntime.on_frame

    def accept(self: SlotRuntime, frame: Frame) -> None:
        current = self.generation
        on_frame(self, replace(frame, generation=current) if current is not None and frame.generation < current else frame)

    with patch.object(SlotRuntime, "on_frame", accept):
        yield


@mutant
def lets_a_barrier_overtake_data() -> Iterator[None]:
    enqueue = RemoteOutput._enqueue

    def overtake(self: RemoteOutput, frame: Frame) -> None:
        if frame.batch is None:
            self._transmit(frame)
        else:
            enqueue(self, frame)

    with patch.object(RemoteOutput, "_enqueue", overtake):
        yield


@mutant
def assigns_a_split_outside_the_snapshot() -> Iterator[None]:
    """The assigner's state is copied when all have acknowledged, not when the trigger is sent."""
    carry_out = JobMaster._checkpoint_effects

    def effects(self: JobMaster, decided: Any, now_ms: int) -> list[Effect]:
        decisions = list(decided)
        for decision in decisions:
            if isinstance(decision, AllAcknowledged):
                copies = {uid: assigner.snapshot() for uid, assigner in self._assigners.items()}
                self._assigners_at[decision.pending.checkpoint] = copies
        return carry_out(self, decisions, now_ms)

    with patch.object(JobMaster, "_checkpoint_effects", effects):
        yield


@mutant
def lets_a_paused_driver_complete_a_checkpoint() -> Iterator[None]:
    """Entries of the log are created whether or not there is one already."""
    create = SimStorage._create

    def overwrite(self: SimStorage, path: str, data: bytes, creator: str) -> bool:
        self.objects.pop(path, None)
        return create(self, path, data, creator)

    with patch.object(SimStorage, "_create", overwrite):
        yield


@mutant
def loses_the_position_of_a_source() -> Iterator[None]:
    unfinished = SimSource.unfinished

    def forget(self: SimSource) -> tuple[Split, ...]:
        return tuple(replace(split, position=None) for split in unfinished(self))

    with patch.object(SimSource, "unfinished", forget):
        yield


@mutant
def forgets_to_abort_what_is_staged_on_restore() -> Iterator[None]:
    with patch.object(SimCommitter, "abort_after", lambda self, checkpoint, *, before_generation: None):
        yield


@mutant
def restarts_sequence_numbers() -> Iterator[None]:
    def from_zero(graph: Any, point: Any) -> list[SlotRestore]:
        return [
            replace(share, channels=tuple(replace(channel, sequence=0) for channel in share.channels))
            for share in plan_restore(graph, point)
        ]

    with patch.object(weir.kernel.job, "plan_restore", from_zero):
        yield


@mutant
def obeys_the_late_barrier_of_an_aborted_checkpoint() -> Iterator[None]:
    on_aborted = Aligner.on_aborted

    def forget(self: Aligner, checkpoint: CheckpointId) -> list[AlignmentEffect]:
        before = self._last
        effects = on_aborted(self, checkpoint)
        self._last = before
        return effects

    with patch.object(Aligner, "on_aborted", forget):
        yield


@mutant
def drops_the_records_of_an_aborted_epoch() -> Iterator[None]:
    def drop(self: SinkOperator, checkpoint: CheckpointId) -> None:
        self._unconfirmed = [known for known in self._unconfirmed if known[0] != checkpoint]

    with patch.object(SinkOperator, "on_checkpoint_aborted", drop):
        yield


@mutant
def does_not_commit_again_on_restore() -> Iterator[None]:
    with patch.object(Publishing, "_commit_again", lambda self, view, permit: None):
        yield


@mutant
def restores_keys_of_other_subtasks() -> Iterator[None]:
    """Each subtask takes over every key of the files it is given, its own or not."""
    restore = SimFold.restore

    def take_all(self: SimFold, snapshots: Any, reader: Any) -> None:
        context = self.context
        self.context = replace(context, key_groups=(0, context.max_parallelism))
        restore(self, snapshots, reader)
        self.context = context

    with patch.object(SimFold, "restore", take_all):
        yield


@mutant
def takes_a_trimmed_number_for_a_free_one() -> Iterator[None]:
    """Who has created an entry does not look whether it is in the log."""

    def believe(self: JobLog, entry: Entry, at: int) -> AppendOutcome:
        known = self._so_far
        known.take(entry)
        self._known = known
        return Appended(at, known.view, known.next_number)

    with patch.object(JobLog, "_created", believe):
        yield


@mutant
def trims_the_log_before_the_summary_is_in_it() -> Iterator[None]:
    summarise = JobLog.summarise

    def hurry(self: JobLog, generation: Generation, *, nonce: str, timestamp_ms: int) -> AppendOutcome:
        self._files.delete(range(1, self.next_number))
        return summarise(self, generation, nonce=nonce, timestamp_ms=timestamp_ms)

    with patch.object(JobLog, "summarise", hurry):
        yield


@mutant
def takes_back_output_without_a_fence() -> Iterator[None]:
    """Whoever was paused while it took back or gave back output goes on with it."""

    def believe(self: SimStorage, generation: Generation) -> None:
        self._world.step("take over", f"generation {generation}")
        self.decides = max(self.decides, generation)

    with patch.object(SimStorage, "take_over", believe), patch.object(SimStorage, "_is_current", lambda self, generation: True):
        yield


@mutant
def keeps_output_when_it_begins_anew() -> Iterator[None]:
    """Going back to the beginning takes nothing back."""
    take_back = Publishing._take_back

    def keep(self: Publishing, generation: Generation, restored: CheckpointId | None) -> None:
        if restored is not None:
            take_back(self, generation, restored)

    with patch.object(Publishing, "_take_back", keep):
        yield


@mutant
def ends_a_chain_whose_head_had_ended() -> Iterator[None]:
    """What has been chained to it since, and holds records still, is taken for ended with it."""

    def by_head(graph: PhysicalGraph, point: RestorePoint) -> set[SubtaskId]:
        heads: dict[str, dict[int, bool]] = {}
        for subtask in point.subtasks:
            heads.setdefault(point.graph.chains[subtask.chain].operators[0], {})[subtask.index] = subtask.ended
        return {
            SubtaskId(chain.index, index)
            for chain in graph.chains
            if (old := heads.get(chain.operators[0]))
            for index in range(chain.parallelism)
            if (old[index] if len(old) == chain.parallelism else all(old.values()))
        }

    with patch.object(weir.kernel.restore, "_restore_ended", by_head):
        yield
