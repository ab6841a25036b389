"""Observes a run and checks its invariants. A broken invariant raises Violation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from weir.errors import CheckpointError, ConfigError, Superseded
from weir.graph.logical import OperatorKind, Partitioning
from weir.graph.physical import PhysicalGraph
from weir.kernel.effects import Finish, JobOutcome, Prepare, Report, ReportKind, StorageEffect, WriteManifest
from weir.protocol.ids import ChannelId, CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.job_log import CheckpointCompleted, CheckpointPublished, GenerationStarted
from weir.protocol.log_view import LogView
from weir.protocol.messages import Cancelled, CancelSubtasks, FromSlot, SubtaskFailed
from weir.storage.layout import log_number
from weir.subtask.channel_subtask import ChannelSubtask
from weir.subtask.channels import SHARE_BYTES_MIN, WINDOW_BYTES
from weir.subtask.deployment import SlotDeployment
from weir.testing.sim.driver import SimDriver
from weir.testing.sim.expected_output import HashChainCheck, Prefix, all_records, check_equal, check_keys, expected_records
from weir.testing.sim.input_files import InputFiles
from weir.testing.sim.log_checker import LogChecker
from weir.testing.sim.network import SimConnection
from weir.testing.sim.records import Identity
from weir.testing.sim.scenario import Scenario
from weir.testing.sim.simulation import MS, Simulation, Violation
from weir.testing.sim.sinks import Folded
from weir.testing.sim.slot import LAYOUT, SimSlot
from weir.testing.sim.storage import SimStorage, Staged, Torn

SUBTASK_ERRORS = frozenset({"StorageError", "UnknownOutcome", "SinkError", "SlotError"})
"""Errors with which a subtask is allowed to fail. Injected faults cause no other errors."""
PROGRESS_MARGIN_MS = 300
"""Maximum time from the end of a timeout until the slot is replaced. The network can delay heartbeats."""
JOB_ERRORS = frozenset({"StorageError", "UnknownOutcome", "SinkError", "SlotError", "CheckpointError"})


@dataclass(frozen=True, slots=True)
class CompletedCheckpoint:
    """A completed checkpoint. ``committed``: the paths of all output that is visible after the commit of this checkpoint."""

    graph: PhysicalGraph
    sequences: dict[ChannelId, int]
    committed: frozenset[str]
    epoch: frozenset[str]
    """The paths of the output that the commit of this checkpoint publishes."""


@dataclass(frozen=True, slots=True)
class _BeforeEntry:
    """The checker's state before a log entry. A power cut or a restored backup can remove the entry. The checker then returns to
    this state."""

    tip: CheckpointId | None
    generation_of: str
    completed: Mapping[CheckpointId, CompletedCheckpoint]
    may_be_published: frozenset[str]


class CheckedCluster(Protocol):
    """The part of the cluster that the checker uses."""

    simulation: Simulation
    scenario: Scenario
    storage: SimStorage
    input_files: InputFiles
    revoke_unknown: bool

    def compiled(self, slots: int, restored: PhysicalGraph | None) -> PhysicalGraph: ...


class InvariantChecker:
    def __init__(self, cluster: CheckedCluster) -> None:
        self._cluster = cluster
        self._simulation = cluster.simulation
        self._logical = cluster.scenario.logical
        self._written: dict[tuple[Generation, CheckpointId], WriteManifest] = {}
        self._completed: dict[CheckpointId, CompletedCheckpoint] = {}
        self._may_be_published: set[str] = set()
        self._open: dict[str, dict[CheckpointId, int]] = {}
        self._account_starts: dict[int, tuple[object, list[int]]] = {}
        self._aborted: dict[tuple[int, SubtaskId], tuple[object, CheckpointId]] = {}
        self._tip: CheckpointId | None = None
        """The checkpoint that a recovery of the newest generation would restore."""
        self._generation_of = ""
        """The name of the driver that started the newest generation."""
        self._prepared: dict[Generation, tuple[int, CheckpointId]] = {}
        """For each generation, the time when its preparation started, and the restored checkpoint."""
        self._before: dict[int, _BeforeEntry] = {}
        self.replaced = 0
        """The number of slots that were replaced while the other slots continued."""
        self._is_put_back = False
        """Whether an older backup of the checkpoint directory was restored."""
        self.log = LogChecker(self._simulation)
        scenario = cluster.scenario
        rows_at_once = 2 * scenario.rows_max + scenario.held_max * 5
        self._held_max_bytes = WINDOW_BYTES + 3 * max(1, rows_at_once) * scenario.row_bytes

    @property
    def view(self) -> LogView:
        return self.log.view

    # ---- drivers -----------------------------------------------------------------------------------

    def on_effect(self, driver: SimDriver, effect: StorageEffect) -> None:
        if isinstance(effect, WriteManifest):
            key = (effect.generation, effect.pending.checkpoint)
            self._written.setdefault(key, effect)
        elif isinstance(effect, Prepare):
            restored = effect.permit.checkpoint if effect.permit is not None else CheckpointId(0)
            self._prepared[effect.generation] = (self._simulation.now_ns, restored)

    def on_report(self, driver: SimDriver, report: Report) -> None:
        pending = self._open.setdefault(driver.name, {})
        match report.kind:
            case ReportKind.CHECKPOINT_TRIGGERED:
                assert report.checkpoint is not None
                if pending:
                    raise Violation(f"{driver.name} triggered {report.checkpoint} while {list(pending)} are pending")
                pending[report.checkpoint] = self._simulation.now_ns - driver.paused_ns
            case ReportKind.CHECKPOINT_COMPLETED | ReportKind.CHECKPOINT_ABORTED:
                assert report.checkpoint is not None
                if report.kind is ReportKind.CHECKPOINT_COMPLETED and report.checkpoint not in self._completed:
                    raise Violation(
                        f"{driver.name} reports checkpoint {report.checkpoint} as completed, but the log does not contain it"
                    )
                pending.pop(report.checkpoint, None)
            case ReportKind.REPLACING:
                self.replaced += 1
            case _:
                pass

    def on_tick(self, driver: SimDriver) -> None:
        """Check that every triggered checkpoint completes or aborts in bounded time, and that no slot is stuck for too long."""
        limit_ns = (self._cluster.scenario.config.checkpoints.timeout_ms + 2_500) * MS
        for checkpoint, triggered_ns in self._open.get(driver.name, {}).items():
            if self._simulation.now_ns - driver.paused_ns - triggered_ns > limit_ns:
                raise Violation(f"checkpoint {checkpoint} of {driver.name} neither completed nor aborted in {limit_ns // MS} ms")
        if driver.paused_ns == 0:
            for slot in driver.running_slots():
                self._check_progress(slot)

    def _check_progress(self, slot: SimSlot) -> None:
        """Check that a slot that makes no progress is replaced in bounded time."""
        config = self._cluster.scenario.config
        for what, since_ns, timeout_ms in (
            ("step", slot.held_at_ns, config.stuck_timeout_ms),
            ("blocking call", slot.hung_at_ns, config.call_timeout_ms),
        ):
            if since_ns is not None and timeout_ms is not None:
                limit_ns = (timeout_ms + PROGRESS_MARGIN_MS) * MS
                if self._simulation.now_ns - since_ns > limit_ns:
                    raise Violation(f"{slot.name} has been in one {what} for {limit_ns // MS} ms and still runs the job")

    def on_drop(self, slot: SimSlot, connection: SimConnection, reason: str) -> None:
        """Some slots send heartbeats while their code holds the GIL. Check that the coordinator does not drop such a slot because
        of missing messages. A slot that was stopped within the last heartbeat timeout may be dropped, because it sent no
        heartbeats while it was stopped."""
        timeout_ns = self._cluster.scenario.config.heartbeat_timeout_ms * MS
        stopped = slot.stopped_until_ns is not None and self._simulation.now_ns - slot.stopped_until_ns < timeout_ns
        if slot.held_at_ns is not None and not stopped and not connection.is_disturbed and "no message" in reason:
            raise Violation(f"{slot.name} was dropped as silent, although it sends heartbeats: {reason}")

    def on_start_failed(self, driver: SimDriver, error: BaseException) -> None:
        if isinstance(error, CheckpointError) and self.view.retired and ("missing" in str(error) or "retired" in str(error)):
            return  # A running job retired the checkpoint after this driver had read the log.
        if isinstance(error, ConfigError) and self._is_put_back:
            self._cluster.revoke_unknown = True  # The user starts the job again, with --revoke-unknown-output.
            return
        if isinstance(error, Superseded) and self._cluster.revoke_unknown:
            return  # Another driver revoked the unknown output while this driver was paused.
        if type(error).__name__ not in ("StorageError", "UnknownOutcome"):
            raise Violation(f"{driver.name} could not start: {type(error).__name__}: {error}")

    def on_finish(self, driver: SimDriver, finish: Finish) -> None:
        if finish.kind == "Superseded" and driver.master is not None and driver.master.generation < self.view.generation:
            return
        if finish.outcome is JobOutcome.FAILED and finish.kind not in JOB_ERRORS and not self._is_replaced_input(finish.kind):
            raise Violation(f"{driver.name} failed: {finish.kind}: {finish.reason}")
        if finish.outcome in (JobOutcome.FINISHED, JobOutcome.SUSPENDED) and driver.master is not None:
            if self.view.generation != driver.master.generation:
                return
            self._check_published(f"{driver.name} ended as {finish.outcome}")
            self._check_records(driver, finish.outcome)
        if (
            finish.outcome is JobOutcome.SUPERSEDED
            and driver.master is not None
            and driver.master.generation == self.view.generation
        ):
            # Another driver can revoke unknown output before the log contains the generation of that driver. The revocation
            # already fences this driver.
            is_fenced = self._cluster.storage.fenced_by > self.view.generation
            if self._generation_of == driver.name and not is_fenced:
                raise Violation(f"{driver.name} stopped as superseded by its own generation {self.view.generation}")

    def _check_records(self, driver: SimDriver, outcome: JobOutcome) -> None:
        """Check that a finished job reports the number of all input records, however often it has recovered."""
        records, expected = driver.progress.snapshot().records, sum(all_records(self._cluster.scenario.sources).values())
        if outcome is JobOutcome.FINISHED and records != expected:
            raise Violation(f"{driver.name} reports {records} records instead of {expected}")

    def _is_replaced_input(self, kind: str) -> bool:
        return kind == "InputError" and self._cluster.input_files.ever_replaced

    # ---- slots -------------------------------------------------------------------------------------

    def on_sent_by_slot(self, slot: SimSlot, message: FromSlot) -> None:
        if isinstance(message, Cancelled) and not all(background.is_idle for background in slot.backgrounds):
            raise Violation(f"{slot.name} confirmed the cancellation of generation {message.generation} during a background call")
        if isinstance(message, SubtaskFailed):
            self._simulation.trace(f"{slot.name}: {message.kind}: {message.reason}")
            if message.kind == "CheckpointError" and message.generation < self.view.generation:
                return  # A newer generation, unknown to the slot's driver, may have retired the checkpoint.
            if message.kind not in SUBTASK_ERRORS and not self._is_replaced_input(message.kind):
                raise Violation(f"{slot.name}, subtask {message.subtask}: {message.kind}: {message.reason}")

    def on_deployed(self, slot: SimSlot) -> None:
        deployment = slot.runtime._deployment  # the checker reads private state and does not change it
        if deployment is not None:
            self._account_starts[slot.number] = (
                deployment, [runtime.account._settled_ns for runtime in deployment.subtasks]
            )  # fmt: skip

    def on_cancel(self, slot: SimSlot, message: CancelSubtasks) -> None:
        """Check that only a failed slot is cancelled, if the other slots continue."""
        deployment = slot.runtime._deployment
        if message.attempt is not None and deployment is not None and not deployment.failed:
            raise Violation(f"{slot.name} was cancelled alone, although it has not failed")

    def on_checkpoint_aborted(self, slot: SimSlot, checkpoint: CheckpointId) -> None:
        """After this call, a subtask must not take a snapshot for ``checkpoint``."""
        deployment = slot.runtime._deployment
        if deployment is None:
            return
        for runtime in deployment.subtasks:
            if isinstance(runtime, ChannelSubtask) and not runtime._effects and runtime.outputs.epoch <= checkpoint:
                self._aborted[slot.number, runtime.subtask] = (runtime, checkpoint)

    def on_turn(self, slot: SimSlot, turns: int) -> None:
        deployment = slot.runtime._deployment
        if deployment is None or turns % 8:
            return
        for runtime in deployment.subtasks:
            aborted_runtime, aborted = self._aborted.get((slot.number, runtime.subtask), (None, 0))
            if aborted_runtime is runtime and runtime.outputs.epoch == aborted + 1:
                raise Violation(
                    f"{slot.name}: subtask {runtime.subtask} took a snapshot for {aborted}, which was already aborted"
                )
        started, starts = self._account_starts.get(slot.number, (None, []))
        for runtime, start_ns in zip(deployment.subtasks, starts if started is deployment else (), strict=False):
            account = runtime.account
            total_ns = account.busy_ns + account.idle_ns + account.backpressured_ns + account.queued_ns
            age_ns = account._settled_ns - start_ns
            if total_ns != age_ns or min(account.busy_ns, account.idle_ns, account.backpressured_ns, account.queued_ns) < 0:
                raise Violation(
                    f"{slot.name}: times of subtask {runtime.subtask} add up to {total_ns} ns, but the subtask is {age_ns} ns old"
                )
        assert slot.deployed is not None
        remote_bytes = 0
        for channel, waiting in deployment.inputs.items():
            if channel.source != slot.deployed.slot:
                remote_bytes += waiting.bytes_held
            if waiting.bytes_held > self._held_max_bytes:
                raise Violation(f"{slot.name}: channel {channel} holds {waiting.bytes_held} bytes")
        if remote_bytes > self._network_bytes_max(deployment):
            raise Violation(f"{slot.name}: the channels from other slots hold {remote_bytes} bytes")

    def _network_bytes_max(self, deployment: SlotDeployment) -> int:
        """Return the maximum number of bytes that the channels from other slots may hold. The maximum is normally the network
        memory of the slot. The maximum is higher if the minimum shares of all channels exceed this memory. A minimum share is
        SHARE_BYTES_MIN, or one row if a row is larger."""
        scenario = self._cluster.scenario
        channels = deployment.graph.remote_inputs_max()
        return max(scenario.network_bytes, channels * max(SHARE_BYTES_MIN, scenario.row_bytes))

    # ---- storage -----------------------------------------------------------------------------------

    def on_created(self, path: str, data: bytes, creator: str) -> None:
        entry = self.log.on_created(path, data, creator)
        number = log_number(LAYOUT.relative(path))
        if entry is not None and number is not None:
            self._before[number] = _BeforeEntry(
                self._tip, self._generation_of, dict(self._completed), frozenset(self._may_be_published)
            )
        match entry:
            case GenerationStarted():
                self._tip = entry.restored_from
                self._generation_of = creator
            case CheckpointCompleted():
                self._on_completed(entry)
            case CheckpointPublished():
                self._check_recorded(entry.checkpoint)
            case _:
                pass

    def on_deleted(self, path: str) -> None:
        self.log.on_deleted(path)

    def on_power_cut(self, lost: Collection[str]) -> None:
        """Check that no process has relied on a log entry that the power cut removed.

        Raises Violation if the entry of a prepared generation or of a published checkpoint is lost.
        """
        first = self.log.on_power_cut(lost)
        if first is None:
            return
        self._simulation.trace(f"the power cut has removed log entry {first} and all later entries")
        self._return_to(first)
        prepared = max(self._prepared, default=Generation(0))
        if prepared > self.view.generation:
            raise Violation(f"generation {prepared} was prepared, but a power cut has removed its log entry")
        unknown = self._cluster.storage.published.keys() - self._may_be_published
        if unknown:
            raise Violation(f"{min(unknown)} is published, but a power cut has removed the log entry of its checkpoint")

    def on_put_back(self, paths: Collection[str]) -> None:
        """Forget everything that happened after the backup, except for the output."""
        self._is_put_back = True
        first = self.log.on_put_back(paths)
        if first is not None:
            self._return_to(first)
        view, storage = self.view, self._cluster.storage
        self._written = {key: effect for key, effect in self._written.items() if key[1] <= view.highest_checkpoint}
        self._prepared = {generation: one for generation, one in self._prepared.items() if generation <= view.generation}
        # Staged output of a lost generation is never published, and a later generation deletes it.
        storage.discard_staged(lambda committable: committable.generation > view.generation)

    def _return_to(self, first: int) -> None:
        before = self._before[first]
        self._tip, self._generation_of = before.tip, before.generation_of
        self._completed, self._may_be_published = dict(before.completed), set(before.may_be_published)

    def _on_completed(self, entry: CheckpointCompleted) -> None:
        effect = self._written.get((entry.generation, entry.checkpoint))
        if effect is None:
            raise Violation(f"checkpoint {entry.checkpoint} completed, but its manifest was not written")
        if entry.checkpoint in self._completed:
            raise Violation(f"checkpoint id {entry.checkpoint} was used twice")
        pending = effect.pending
        before = self._completed.get(self._tip) if self._tip is not None else None
        graph = self._cluster.compiled(len({snapshot.index for snapshot in pending.snapshots.values()}), None)
        paths = {str(committable.payload) for committable in pending.committables()}
        committed = frozenset(paths) | (before.committed if before is not None else frozenset())
        sequences = {
            ChannelId(end.edge, snapshot.index, target): sequence
            for snapshot in pending.snapshots.values()
            for end in snapshot.outputs
            for target, sequence in zip(
                graph.targets_of(graph.edges[end.edge], snapshot.index), end.sequences.unpack().tolist(), strict=True
            )
        }
        self._check_sequences(entry.checkpoint, graph, sequences, before)
        self._completed[entry.checkpoint] = CompletedCheckpoint(
            graph, sequences, committed, committed - (before.committed if before is not None else frozenset())
        )
        self._tip = entry.checkpoint
        self._may_be_published |= committed
        self._check_effect_of_prefix(entry.checkpoint, effect, committed)

    @staticmethod
    def _check_sequences(
        checkpoint: CheckpointId, graph: PhysicalGraph, sequences: dict[ChannelId, int], before: CompletedCheckpoint | None
    ) -> None:
        """Check that the row numbers of a channel never restart, and that the numbers of rows that a sender has sent to the targets of a
        REBALANCE edge differ by at most one."""
        rows: dict[tuple[int, int], list[int]] = {}
        for channel, sequence in sequences.items():
            if graph.edges[channel.edge].partitioning is Partitioning.REBALANCE:
                rows.setdefault((channel.edge, channel.source), []).append(sequence)
        for (edge, source), sent in rows.items():
            if max(sent) - min(sent) > 1:
                raise Violation(f"checkpoint {checkpoint}: subtask {source} sent uneven numbers of rows on edge {edge}: {sent}")
        if before is None or before.graph is not graph:
            return
        for channel, sequence in sequences.items():
            if sequence < before.sequences[channel]:
                raise Violation(
                    f"checkpoint {checkpoint}: channel {channel} went from number {before.sequences[channel]} back to {sequence}"
                )

    def _check_effect_of_prefix(self, checkpoint: CheckpointId, effect: WriteManifest, committed: frozenset[str]) -> None:
        """The state and the committed output of a checkpoint must result from a prefix of every split."""
        where = f"checkpoint {checkpoint}"
        held: dict[OperatorUid, set[Identity]] = {}
        folded: dict[OperatorUid, list[tuple[int, Identity]]] = {}
        for snapshot in effect.pending.snapshots.values():
            for operator in snapshot.operators:
                for file in operator.files:
                    content = self._cluster.storage.objects.get(LAYOUT.absolute(file.path))
                    if content is None or isinstance(content, Torn):
                        raise Violation(f"{where} names {file.path}, which is {'torn' if content else 'missing'}")
                    assert isinstance(content, tuple)
                    self._collect(operator.operator, content[file.offset], held, folded)
        expected = expected_records(self._logical, self._prefix(effect), held)
        for one in self._logical.operators:
            if one.kind is OperatorKind.AGGREGATE:
                assert isinstance(one.config, dict) and isinstance(one.config["divisor"], int)
                arrived = folded.get(one.uid, [])
                check_keys(one.uid, one.config["divisor"], arrived)
                check_equal(f"{where}, state of {one.uid}", (identity for _, identity in arrived), expected.received[one.uid])
            elif one.kind is OperatorKind.SINK:
                found = self._rows_of(one.uid, committed)
                check_equal(f"{where}, all committed by {one.uid}", found, expected.sent[one.uid])

    @staticmethod
    def _collect(
        uid: OperatorUid, content: object, held: dict[OperatorUid, set[Identity]], folded: dict[OperatorUid, list[tuple[int, Identity]]]
    ) -> None:  # fmt: skip
        assert isinstance(content, tuple)
        for item in content:
            if isinstance(item[1], Folded):
                folded.setdefault(uid, []).extend((item[0], identity) for identity in item[1].arrived)
            else:
                held.setdefault(uid, set()).add(item.identity)

    def _prefix(self, effect: WriteManifest) -> Prefix:
        """Return, for each split, the number of records before the checkpoint. Raises Violation if the split list of a source is
        missing, or if the number of finished splits is wrong."""
        sources = self._cluster.scenario.sources
        prefix = dict(all_records(sources))
        unfinished = {uid: list(state.pending) for uid, state in effect.assigners.items()}
        for operator in effect.pending.operators():
            unfinished.setdefault(operator.operator, []).extend(operator.splits)
        for uid, state in effect.assigners.items():
            where, splits = f"checkpoint {effect.pending.checkpoint}, source {uid}", len(sources[uid].lengths)
            for listed in state.split_lists:
                if not isinstance(self._cluster.storage.objects.get(LAYOUT.absolute(listed.file.path)), bytes):
                    raise Violation(f"{where}: the split list {listed.file.path} is missing or torn")
            prefix |= {(uid, number): 0 for number in range(state.next, splits)}
            prefix |= {
                (uid, _number(split.id)): split.position if isinstance(split.position, int) else 0 for split in unfinished[uid]
            }
            records = sum(number for (source, _), number in prefix.items() if source == uid)
            if state.records != records:
                raise Violation(f"{where}: {state.records} records are counted, but the positions contain {records}")
            if state.finished != state.next - len(unfinished[uid]):
                raise Violation(
                    f"{where}: {state.finished} of {splits} splits count as finished, but the state is {state}. "
                    f"Unfinished splits: {unfinished[uid]}"
                )
        return prefix

    def _rows_of(self, sink: OperatorUid, paths: frozenset[str]) -> list[Identity]:
        ever = self._cluster.storage.all_staged
        found = [ever[path] for path in sorted(paths) if path in ever]
        if len(found) != len(paths):
            raise Violation(f"a committable names output that was never staged: {sorted(set(paths) - ever.keys())[0]}")
        return [row.identity for staged in found if staged.committable.sink == sink for row in staged.rows]

    def on_published(self, paths: Collection[str]) -> None:
        """Check that readers see all output of a sink in an epoch or none of this output."""
        storage = self._cluster.storage
        unexpected = set(paths) - self._may_be_published
        if unexpected:
            raise Violation(f"published without a completed checkpoint: {min(unexpected)}")
        published = storage.published.keys() | storage.taken.keys()
        for checkpoint, completed in self._completed.items():
            for path in completed.epoch & set(paths):
                sink = storage.all_staged[path].committable.sink
                missing = {one for one in completed.epoch - published if storage.all_staged[one].committable.sink == sink}
                if missing:
                    raise Violation(f"{path} of checkpoint {checkpoint} is visible before {min(missing)}")

    def _check_recorded(self, checkpoint: CheckpointId) -> None:
        """Check that all sinks have committed a checkpoint that the log records as published."""
        storage = self._cluster.storage
        missing = self._completed[checkpoint].committed - storage.published.keys() - storage.taken.keys()
        if missing:
            raise Violation(f"the log records checkpoint {checkpoint} as published, but {min(missing)} is not visible")

    def recorded_as_published(self) -> frozenset[str]:
        """Return the paths of output on the current branch that the log records as published."""
        recorded = [record.checkpoint for record in self.view.restorable if record.published]
        return self._completed[recorded[-1]].committed if recorded else frozenset()

    # ---- the end -----------------------------------------------------------------------------------

    def _expected(self) -> frozenset[str]:
        return self._completed[self._tip].committed if self._tip is not None else frozenset()

    def _received(self) -> dict[str, Staged]:
        """Return the published output and the output of the current branch that a consumer has taken."""
        storage, expected = self._cluster.storage, self._expected()
        return storage.published | {path: staged for path, staged in storage.taken.items() if path in expected}

    def _check_published(self, where: str) -> None:
        storage = self._cluster.storage
        again = storage.published.keys() & storage.taken.keys()
        if again:
            raise Violation(f"{where}: {min(again)} is published again, although a consumer has taken it")
        published, expected = frozenset(self._received()), self._expected()
        if published != expected:
            missing, extra = sorted(expected - published), sorted(published - expected)
            raise Violation(f"{where}: never committed {missing[:2]}, committed unexpectedly {extra[:2]}")

    def on_end(self) -> None:
        """Call after all processes have exited."""
        self._check_published("at the end")
        expected = expected_records(self._logical, all_records(self._cluster.scenario.sources), {})
        # A restore can move a split to another subtask. Later records of the split can then overtake earlier records that are
        # still delayed in the old subtask.
        restored = self.replaced > 0 or any(start.restored_from is not None for start in self.view.generations)
        chains = HashChainCheck(self._logical, splits_may_move=self._cluster.scenario.rescales or restored)
        for one in self._logical.operators:
            if one.kind is OperatorKind.SINK:
                rows = [row for staged in self._received().values() if staged.committable.sink == one.uid for row in staged.rows]
                check_equal(f"output of {one.uid}", (row.identity for row in rows), expected.sent[one.uid])
                for row in rows:
                    chains.add(row)
        chains.check()
        self._check_orphans()

    def _check_orphans(self) -> None:
        """Staged output is allowed to remain only if a zombie wrote it after the last preparation, or if its writer
        received no confirmation.
        """
        newest = self.view.generation
        prepared_ns, restored = self._prepared[newest]
        for path, staged in self._cluster.storage.staged.items():
            committable = staged.committable
            if committable.generation == newest and not staged.uncertain:
                raise Violation(f"{path} of the last generation is staged, but neither committed nor deleted")
            if staged.staged_ns < prepared_ns and committable.generation < newest and committable.checkpoint > restored:
                raise Violation(
                    f"{path} was staged for a checkpoint after the restored checkpoint, and was not deleted by the restore"
                )


def _number(split_id: str) -> int:
    return int(split_id.rsplit("-", 1)[1])
