"""Deliberate faults in the product code. The simulator must find each fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import msgspec

import weir.coordinator.effect_runner
import weir.kernel.job
import weir.kernel.restore
import weir.testing.sim.driver
from weir.connectors.files import file_identity
from weir.connectors.sink_operator import SinkOperator
from weir.coordinator.sinks import SinkCoordinator
from weir.coordinator.start import FirstNumbers
from weir.errors import UnknownOutcome
from weir.graph.physical import Edge, PhysicalGraph
from weir.kernel.alignment import Aligner, AlignmentEffect
from weir.kernel.checkpoints import AllAcknowledged, CheckpointEffect, CommitPermit, Completed
from weir.kernel.effects import Commit, Effect
from weir.kernel.job import JobMaster
from weir.kernel.requests import PendingAppend
from weir.kernel.restore import RestorePoint, SlotRestore, plan_restore
from weir.kernel.slots import Deployment, Slot
from weir.kernel.split_assigner import Assignment, SplitAssigner, SplitList
from weir.protocol.channel_state import EdgeSnapshot, PackedInts
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, CheckpointId, Generation, SlotIncarnation, SlotIndex, SubtaskId
from weir.protocol.job_log import Entry
from weir.protocol.log_view import LogView
from weir.protocol.manifest import AssignerState, Manifest, SplitListFile
from weir.protocol.messages import FromSlot, Heartbeat
from weir.protocol.snapshots import Committable, Split, StateFile
from weir.storage.job_log import Appended, AppendOutcome, JobLog
from weir.storage.log_reader import LogFiles
from weir.storage.state_files import StateReader
from weir.subtask.channels import FULL_LIMITS, ChannelLimits, InputChannel, Outputs, RemoteOutput
from weir.subtask.environment import BatchPartitioner
from weir.subtask.slot import SlotRuntime
from weir.testing.sim.operators import SimSource
from weir.testing.sim.program import SimProgram
from weir.testing.sim.sinks import SimCommitter, SimFold
from weir.testing.sim.storage import SimStorage

Mutant = Callable[[], Any]
"""Returns a context manager. The deliberate fault is active until the context manager exits."""
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
    original_effects = JobMaster._checkpoint_effects

    def effects(self: JobMaster, decided: Any, now_ms: int) -> list[Effect]:
        early: list[Effect] = []
        decisions = list(decided)
        for decision in decisions:
            if isinstance(decision, AllAcknowledged):
                permit = CommitPermit(decision.pending.checkpoint, self.generation)
                early.append(Commit(permit, decision.pending.committables()))
        return [*early, *original_effects(self, decisions, now_ms)]

    with patch.object(JobMaster, "_checkpoint_effects", effects):
        yield


@mutant
def accepts_frames_of_an_old_generation() -> Iterator[None]:
    on_frame = SlotRuntime.on_frame

    def process_frame(self: SlotRuntime, frame: Frame) -> None:
        current = self.generation
        on_frame(
            self,
            msgspec.structs.replace(frame, generation=current) if current is not None and frame.generation < current else frame,
        )

    with patch.object(SlotRuntime, "on_frame", process_frame):
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
def lets_a_barrier_overtake_buffered_rows() -> Iterator[None]:
    """A barrier does not flush the partitioners, so their rows follow the barrier."""
    flush, broadcast = Outputs.flush, Outputs.broadcast

    def flush_by_time_only(self: Outputs, now_ns: int | None = None) -> bool:
        return now_ns is not None and flush(self, now_ns)

    def broadcast_event(self: Outputs, kind: FrameKind, argument: int = 0) -> None:
        if kind is not FrameKind.BARRIER:
            flush(self)
        broadcast(self, kind, argument)

    with patch.object(Outputs, "flush", flush_by_time_only), patch.object(Outputs, "broadcast", broadcast_event):
        yield


@mutant
def leaves_buffered_rows_at_the_end_of_input() -> Iterator[None]:
    broadcast = Outputs.broadcast

    def broadcast_event(self: Outputs, kind: FrameKind, argument: int = 0) -> None:
        if kind is FrameKind.END:
            for edge in self._edges:
                edge._partitioner.flush()
            self.pending_since_ns = None
        broadcast(self, kind, argument)

    with patch.object(Outputs, "broadcast", broadcast_event):
        yield


@mutant
def lets_batches_wait_that_use_up_the_credit() -> Iterator[None]:
    """A receiver waits for more batches while the sender of a batch waits for credit. No source finishes its step in time."""
    push = InputChannel.push

    def push_small_batch(self: InputChannel, frame: Frame) -> None:
        push(self, frame)
        self.arrivals.is_credit_low = False

    with patch.object(InputChannel, "push", push_small_batch):
        yield


@mutant
def gives_each_channel_a_full_window() -> Iterator[None]:
    """The channels to a slot do not share the network memory of the slot."""
    with patch.object(ChannelLimits, "of", lambda graph, network_bytes: FULL_LIMITS):
        yield


@mutant
def assigns_a_split_outside_the_snapshot() -> Iterator[None]:
    """The state of the split assigner is copied when all subtasks have acknowledged, instead of when the checkpoint is
    triggered."""
    original_effects = JobMaster._checkpoint_effects

    def effects(self: JobMaster, decided: Any, now_ms: int) -> list[Effect]:
        decisions = list(decided)
        for decision in decisions:
            if isinstance(decision, AllAcknowledged):
                copies = {uid: assigner.snapshot() for uid, assigner in self._assigners.items()}
                self._assigners_at[decision.pending.checkpoint] = copies
        return original_effects(self, decisions, now_ms)

    with patch.object(JobMaster, "_checkpoint_effects", effects):
        yield


@mutant
def lets_a_paused_driver_complete_a_checkpoint() -> Iterator[None]:
    """The storage replaces an existing log entry when another process appends an entry with the same number."""
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
def forgets_the_records_of_the_restored_checkpoint() -> Iterator[None]:
    restored = SplitAssigner.restored

    def forget(state: AssignerState, *others: Any) -> SplitAssigner:
        return restored(replace(state, records=0), *others)

    with patch.object(SplitAssigner, "restored", forget):
        yield


@mutant
def deletes_split_lists() -> Iterator[None]:
    """Garbage collection deletes split lists, because ``referenced_files`` does not return them."""

    def without_split_lists(self: Manifest) -> tuple[StateFile, ...]:
        return tuple(file for operator in self.operators() for file in operator.files)

    with patch.object(Manifest, "referenced_files", without_split_lists):
        yield


@mutant
def forgets_the_known_input_on_restore() -> Iterator[None]:
    """A restored source discovers splits that an earlier generation has already discovered."""
    read = weir.coordinator.effect_runner.read_split_list

    def without_known(reader: StateReader, listed: SplitListFile) -> SplitList:
        found = read(reader, listed)
        return found if found.known is None else replace(found, known=0)

    with patch.object(weir.coordinator.effect_runner, "read_split_list", without_known):
        yield


@mutant
def stores_the_known_input_of_a_later_discovery() -> Iterator[None]:
    """If splits are discovered between the trigger and the completion of a checkpoint, a restore of the checkpoint treats these
    splits as known, but does not contain them."""
    restored = SplitAssigner.restored
    newest: dict[str, Any] = {}

    def discovered(self: SplitAssigner, known: Any, splits: SplitList | None, precedes: CheckpointId) -> list[Assignment]:
        newest[self._lists[0].file.path] = known
        return add(self, known, splits, precedes)

    def restore(state: AssignerState, unfinished: Iterable[Split], lists: Iterable[SplitList]) -> SplitAssigner:
        assigner = restored(state, unfinished, lists)
        assigner.known = newest.get(assigner._lists[0].file.path, assigner.known)
        return assigner

    add = SplitAssigner.discovered
    with patch.object(SplitAssigner, "discovered", discovered), patch.object(SplitAssigner, "restored", restore):
        yield


@mutant
def does_not_answer_the_requests_of_waiting_subtasks() -> Iterator[None]:
    def discovered(self: SplitAssigner, known: Any, splits: SplitList | None, precedes: CheckpointId) -> list[Assignment]:
        add(self, known, splits, precedes)
        return []

    add = SplitAssigner.discovered
    with patch.object(SplitAssigner, "discovered", discovered):
        yield


@mutant
def does_not_compare_the_identity_of_input_files() -> Iterator[None]:
    with patch.object(file_identity, "check_unchanged", lambda path, listed, present, *, restored: None):
        yield


@mutant
def does_not_abort_staged_output_on_restore() -> Iterator[None]:
    with patch.object(SimCommitter, "abort_after", lambda self, checkpoint, *, before: None):
        yield


@mutant
def restarts_sequence_numbers() -> Iterator[None]:
    def from_zero(graph: Any, point: Any) -> list[SlotRestore]:
        def restarted(edges: tuple[EdgeSnapshot, ...]) -> tuple[EdgeSnapshot, ...]:
            return tuple(replace(edge, sequences=PackedInts(edge.sequences.count, 0)) for edge in edges)

        return [
            replace(slot, inputs=restarted(slot.inputs), outputs=restarted(slot.outputs)) for slot in plan_restore(graph, point)
        ]

    with patch.object(weir.kernel.job, "plan_restore", from_zero):
        yield


@mutant
def deals_rows_from_the_first_target_after_a_restore() -> Iterator[None]:
    partitioner = SimProgram.partitioner

    def from_zero(self: SimProgram, graph: PhysicalGraph, edge: Edge, source_index: int, rows_sent: int) -> BatchPartitioner:
        return partitioner(self, graph, edge, source_index, 0)

    with patch.object(SimProgram, "partitioner", from_zero):
        yield


@mutant
def loses_the_splits_of_a_replaced_slot() -> Iterator[None]:
    with patch.object(SplitAssigner, "take_back", lambda self, subtask, unfinished, **checkpoints: []):
        yield


@mutant
def returns_the_splits_of_a_replaced_slot_twice() -> Iterator[None]:
    returned = RestorePoint.with_splits_returned

    def all_or_nothing(self: RestorePoint, index: int | None = None) -> RestorePoint:
        return returned(self) if index is None else self

    with patch.object(RestorePoint, "with_splits_returned", all_or_nothing):
        yield


@mutant
def answers_the_request_of_a_lost_slot() -> Iterator[None]:
    with patch.object(SplitAssigner, "on_subtask_lost", lambda self, subtask: None):
        yield


@mutant
def keeps_the_staged_output_of_a_replaced_slot() -> Iterator[None]:
    with patch.object(SimCommitter, "discard", lambda self, writer, attempt, *, after: None):
        yield


@mutant
def replaces_a_slot_before_the_log_entry_is_created() -> Iterator[None]:
    deploy = JobMaster._deploy_replacements

    def early(self: JobMaster, now_ms: int) -> list[Effect]:
        opened, self._append = self._append, PendingAppend(attempts_max=1, retry_ms=1)
        try:
            return deploy(self, now_ms)
        finally:
            self._append = opened

    with patch.object(JobMaster, "_deploy_replacements", early):
        yield


@mutant
def replaces_a_slot_from_an_older_checkpoint() -> Iterator[None]:
    completed, deploy = JobMaster._completed, JobMaster._deploy_replacement
    older: dict[int, RestorePoint | None] = {}

    def remember(self: JobMaster, decision: Completed, now_ms: int) -> list[Effect]:
        older[id(self)] = self._restore
        return completed(self, decision, now_ms)

    def from_older(self: JobMaster, slot: Slot, index: SlotIndex, attempt: int, now_ms: int) -> list[Effect]:
        self._restore = older.get(id(self), self._restore)
        return deploy(self, slot, index, attempt, now_ms)

    with patch.object(JobMaster, "_completed", remember), patch.object(JobMaster, "_deploy_replacement", from_older):
        yield


@mutant
def forgets_split_lists_before_the_checkpoint_is_completed() -> Iterator[None]:
    effects = JobMaster._checkpoint_effects

    def early(self: JobMaster, decided: Iterable[CheckpointEffect], now_ms: int) -> list[Effect]:
        decisions = list(decided)
        result = effects(self, decisions, now_ms)
        for decision in decisions:
            if isinstance(decision, AllAcknowledged):
                for uid, state in self._assigners_at[decision.pending.checkpoint].items():
                    self._assigners[uid]._forget_lists(state.split_lists)
        return result

    with patch.object(JobMaster, "_checkpoint_effects", early):
        yield


@mutant
def does_not_count_the_records_of_a_replaced_slot() -> Iterator[None]:
    take_back = SplitAssigner.take_back

    def uncounted(self: SplitAssigner, subtask: int, unfinished: Iterable[Split], *, records: int, **checkpoints: Any) -> Any:
        return take_back(self, subtask, unfinished, records=0, **checkpoints)

    with patch.object(SplitAssigner, "take_back", uncounted):
        yield


@mutant
def accepts_a_late_barrier_of_an_aborted_checkpoint() -> Iterator[None]:
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
        self._unconfirmed = [epoch for epoch in self._unconfirmed if epoch[0] != checkpoint]

    with patch.object(SinkOperator, "on_checkpoint_aborted", drop):
        yield


@mutant
def does_not_commit_again_on_restore() -> Iterator[None]:
    with patch.object(SinkCoordinator, "_commit_again", lambda self, generation, permit: None):
        yield


@mutant
def limits_the_duration_of_a_restore() -> Iterator[None]:
    """A deployment fails after a fixed time, even if its restore makes progress."""
    with patch.object(Deployment, "on_restoring", lambda self, slot, message, now_ms: None):
        yield


@mutant
def commits_published_output_again() -> Iterator[None]:
    """A recovery commits output again even if the job log records it as published. If a consumer has removed the published
    output, each recovery fails."""
    with patch.object(LogView, "published_up_to", lambda self, checkpoint: CheckpointId(0)):
        yield


@mutant
def publishes_the_output_of_each_writer_separately() -> Iterator[None]:
    def publish(self: SinkCoordinator, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        for one in committables:
            self._committers[one.sink].commit(permit, [one])

    with patch.object(SinkCoordinator, "_publish", publish):
        yield


@mutant
def records_a_publication_before_all_sinks_have_committed() -> Iterator[None]:
    def publish_one(self: SinkCoordinator, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        """Submit the commits, and wait for none of them."""
        for sink in {one.sink: None for one in committables}:
            self._commits.submit(self._committers[sink].commit, permit, [one for one in committables if one.sink == sink])

    with patch.object(SinkCoordinator, "_publish", publish_one):
        yield


@mutant
def does_not_compare_the_output_with_the_job_log() -> Iterator[None]:
    with patch.object(weir.testing.sim.driver, "check_published_output", lambda *args, **options: FirstNumbers()):
        yield


@mutant
def restores_keys_of_other_subtasks() -> Iterator[None]:
    """Each subtask restores every key of its files, including keys of other subtasks."""
    restore = SimFold.restore

    def restore_all(self: SimFold, snapshots: Any, reader: Any) -> None:
        context = self.context
        self.context = replace(context, key_groups=(0, context.max_parallelism))
        restore(self, snapshots, reader)
        self.context = context

    with patch.object(SimFold, "restore", restore_all):
        yield


@mutant
def appends_an_entry_that_is_not_durable() -> Iterator[None]:
    """If storage cannot sync a log entry but can return the entry, the process treats the entry as durable."""
    create = LogFiles.create

    def create_or_find(self: LogFiles, number: int, entry: Entry) -> bool:
        try:
            return create(self, number, entry)
        except UnknownOutcome:
            stored = self.fetch(number)
            if stored is None or stored.nonce != entry.nonce:
                raise
            return True

    with patch.object(LogFiles, "create", create_or_find):
        yield


@mutant
def reuses_a_trimmed_log_number() -> Iterator[None]:
    """After writing a log entry, a process does not verify that the entry is in the log."""

    def skip_check(self: JobLog, entry: Entry, at: int) -> AppendOutcome:
        state = self._current_state
        state.apply(entry)
        self._state = state
        return Appended(at, state.view, state.next_number)

    with patch.object(JobLog, "_created", skip_check):
        yield


@mutant
def trims_the_log_before_the_summary_is_in_it() -> Iterator[None]:
    summarise = JobLog.summarise

    def trim_early(self: JobLog, generation: Generation, *, nonce: str, timestamp_ms: int) -> AppendOutcome:
        self._files.delete(range(1, self.next_number))
        return summarise(self, generation, nonce=nonce, timestamp_ms=timestamp_ms)

    with patch.object(JobLog, "summarise", trim_early):
        yield


@mutant
def revokes_output_without_a_fence() -> Iterator[None]:
    """A process that was paused during a revocation or reinstatement continues, although a newer generation has fenced the
    process."""

    def skip_check(self: SimStorage, generation: Generation) -> None:
        self._simulation.step("fence", f"generation {generation}")
        self.fenced_by = max(self.fenced_by, generation)

    with patch.object(SimStorage, "fence", skip_check), patch.object(SimStorage, "_is_current", lambda self, generation: True):
        yield


@mutant
def does_not_revoke_output_on_a_start_without_state() -> Iterator[None]:
    revoke = SinkCoordinator._revoke_abandoned

    def keep(self: SinkCoordinator, generation: Generation, restored: CheckpointId | None) -> list[str]:
        return [] if restored is None else revoke(self, generation, restored)

    with patch.object(SinkCoordinator, "_revoke_abandoned", keep):
        yield


@mutant
def restores_a_chain_as_ended_if_its_first_operator_had_ended() -> Iterator[None]:
    """A restore treats a whole chain as ended if its first operator has ended, even if later operators still buffer records."""

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


@mutant
def does_not_limit_the_duration_of_a_step() -> Iterator[None]:
    with patch.object(Slot, "stalls", lambda self: [stall for stall in _stalls(self) if stall.in_call]):
        yield


@mutant
def does_not_limit_the_duration_of_a_blocking_call() -> Iterator[None]:
    with patch.object(Slot, "stalls", lambda self: [stall for stall in _stalls(self) if not stall.in_call]):
        yield


_stalls = Slot.stalls


@mutant
def treats_a_slot_without_turns_as_unreachable() -> Iterator[None]:
    """The coordinator ignores a heartbeat if the number of turns is the same as in the previous heartbeat."""
    on_message = JobMaster.on_message

    def ignore_repeated(self: JobMaster, incarnation: SlotIncarnation, message: FromSlot, now_ms: int) -> list[Effect]:
        slot = self.slots.get(incarnation)
        if isinstance(message, Heartbeat) and slot is not None and message.turns == slot.heartbeat.turns:
            return []
        return on_message(self, incarnation, message, now_ms)

    with patch.object(JobMaster, "on_message", ignore_repeated):
        yield


@mutant
def reuses_a_slot_whose_background_call_has_not_ended() -> Iterator[None]:
    """A slot answers Cancel although a blocking call of the cancelled deployment is still running."""
    with patch.object(SlotRuntime, "close_earlier_deployments", lambda self: True):
        yield
