"""Preparing sinks for a generation: order of steps, fencing, repetition, and sinks that are no longer in the graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from tests.unit.coordinator.test_log_executor import COLUMNS, GRAPH

from weir.connectors.base import Ancestry, Committer, Epochs, MissingOutput
from weir.coordinator import sinks
from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.sinks import Executor, PendingResult, SinkCoordinator
from weir.errors import CheckpointError, Retry, SinkError, StorageError, Superseded, UnknownOutcome
from weir.graph.compile import compile_graph
from weir.graph.logical import Input, LogicalGraph, LogicalOperator, OperatorKind
from weir.kernel.checkpoints import CommitPermit
from weir.protocol import codec
from weir.protocol.ids import Attempt, CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import (
    BranchAbandoned,
    CheckpointCompleted,
    CheckpointImported,
    CheckpointPublished,
    Entry,
    GenerationStarted,
)
from weir.protocol.log_view import LogView
from weir.protocol.manifest import Manifest, Origin, aggregate_statistics
from weir.protocol.snapshots import Committable, OperatorSnapshot, SubtaskSnapshot, SubtaskStatistics
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import WrittenManifest, write_manifest
from weir.storage.memory import MemoryStorage

SINK, FORMER = OperatorUid("out"), OperatorUid("former")
LAYOUT = JobLayout("job")


@dataclass
class Recording(Committer):
    """A committer that records its calls. ``before`` is called before each revocation and reinstatement."""

    revocable = True
    calls: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda step: None
    missing: tuple[MissingOutput, ...] = ()

    def claim(self, *, job: str, sink: str, history: str | None = None) -> None:
        self.calls.append(f"claim {sink} {history}")

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        self.calls.append(f"commit {[one.checkpoint for one in committables]}")

    def abort_after(self, checkpoint: CheckpointId, *, before: Attempt) -> None:
        self.calls.append(f"abort after {checkpoint} before g{before}")

    def revoke(self, epochs: Epochs, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        self.before("revoke")
        listed = {checkpoint: [one.checkpoint for one in epoch] for checkpoint, epoch in epochs.items()}
        self.calls.append(f"revoke {listed} of {branch} before g{before}")
        return self.missing

    def reinstate(self, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        self.before("reinstate")
        self.calls.append(f"reinstate {branch} before g{before}")
        return self.missing


def _graph(*sinks: OperatorUid) -> Any:
    source = LogicalOperator(OperatorUid("in"), "in", OperatorKind.SOURCE, (), COLUMNS, "")
    outs = [LogicalOperator(sink, sink, OperatorKind.SINK, (Input(OperatorUid("in")),), COLUMNS, "") for sink in sinks]
    return compile_graph(LogicalGraph("job", (source, *outs)), slots=1)


def _committable(sink: OperatorUid, generation: int, checkpoint: int) -> Committable:
    return Committable("job", sink, Generation(generation), CheckpointId(checkpoint), 0, None)


@dataclass(frozen=True)
class _WhenAskedFor:
    """An executor that runs a call only when its result is asked for."""

    def submit(self, work: Callable[..., Any], /, *args: Any) -> PendingResult:
        return _Lazy(partial(work, *args))

    def shutdown(self, wait: bool = True) -> None:
        """Do nothing, because no call is running."""


@dataclass(frozen=True)
class _Lazy:
    result: Callable[[], object]


class JobWithSinks:
    """A job log, manifests, and a ``SinkCoordinator`` that uses them."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self.log = JobLog(self.storage, LAYOUT)
        self.sink = Recording()
        self.nonces = 0

    def append(self, entry: Entry) -> None:
        self.log.append(entry, at=self.log.read()[1])

    def start(self, generation: int, restored: int | None, first: int) -> None:
        view = self.log.read()[0]
        from_ = None if restored is None else CheckpointId(restored)
        branch = view.branch_after(from_, Generation(generation))
        self.append(GenerationStarted(Generation(generation), from_, branch, CheckpointId(first), f"start {generation}", 0))

    def complete(
        self,
        generation: int,
        checkpoint: int,
        *,
        sinks: Sequence[OperatorUid] = (SINK,),
        published: int = 0,
        unconfirmed: Iterable[int] = (),
    ) -> None:
        """Complete a checkpoint. ``unconfirmed``: earlier epochs whose committables the manifest repeats."""
        written = self._manifest(generation, checkpoint, sinks, published, epochs=(*unconfirmed, checkpoint))
        self.append(
            CheckpointCompleted(
                Generation(generation), CheckpointId(checkpoint), written.path, written.checksum, 0, f"c{checkpoint}", 0
            )
        )

    def import_(self, generation: int, checkpoint: int, *, sinks: Sequence[OperatorUid]) -> None:
        origin = Origin("file:///elsewhere/job", CheckpointId(1), "c")
        written = self._manifest(generation, checkpoint, sinks, checkpoint, origin, epochs=(checkpoint,))
        branch = f"b{generation}"
        self.append(
            CheckpointImported(
                Generation(generation), CheckpointId(checkpoint), branch, written.path, written.checksum, 0, f"i{checkpoint}", 0
            )
        )

    def _manifest(
        self,
        generation: int,
        checkpoint: int,
        sinks: Sequence[OperatorUid],
        published: int,
        origin: Origin | None = None,
        *,
        epochs: Sequence[int],
    ) -> WrittenManifest:
        operators = tuple(
            OperatorSnapshot(sink, 0, committables=tuple(_committable(sink, generation, epoch) for epoch in epochs))
            for sink in sinks
        )
        subtasks = (SubtaskSnapshot(0, 0, operators, False, SubtaskStatistics()),)
        return write_manifest(
            self.storage,
            LAYOUT,
            Manifest(
                job="job",
                checkpoint=CheckpointId(checkpoint),
                generation=Generation(generation),
                branch="b1",
                restored_from=None,
                trigger_timestamp_ms=0,
                completed_timestamp_ms=0,
                is_savepoint=False,
                drained=False,
                graph=codec.to_json(_graph(*sinks)),
                subtasks=subtasks,
                assigners={},
                statistics=aggregate_statistics(subtasks, end_to_end_ms=1.0),
                published_up_to=CheckpointId(published),
                imported_from=origin,
            ),
        )

    def sink_coordinator(
        self,
        append: Callable[[Entry], None] | None = None,
        *,
        commits: Executor | None = None,
        others: dict[OperatorUid, Committer] | None = None,
    ) -> SinkCoordinator:
        return SinkCoordinator(
            CompiledJob(GRAPH, {}, {SINK: self.sink, **(others or {})}),
            self.storage,
            commits=commits or _WhenAskedFor(),
            current_view=self.view,
            append=append or self.append,
        )

    def view(self, generation: Generation) -> LogView:
        view = self.log.read()[0]
        if view.generation > generation:
            raise Superseded("a newer generation runs")
        return view


@pytest.fixture
def history() -> JobWithSinks:
    """Generation 1 completed checkpoints 1, 2 and 3. It is unknown whether checkpoint 3 is published. Generation 2 restored
    checkpoint 1."""
    history = JobWithSinks()
    history.start(1, None, 1)
    for checkpoint in (1, 2, 3):
        history.complete(1, checkpoint, published=checkpoint - 1)
    history.start(2, 1, 10)
    return history


def _prepare(
    history: JobWithSinks, generation: int, restored: int, append: Callable[[Entry], None] | None = None
) -> SinkCoordinator:
    one = history.sink_coordinator(append)
    one.prepare(Generation(generation), CommitPermit(CheckpointId(restored), Generation(generation)))
    return one


def test_a_preparation_claims_sinks_and_then_revokes_and_commits_and_aborts_output(history: JobWithSinks) -> None:
    one = _prepare(history, 2, 1)
    assert history.sink.calls == [
        "claim out start 1",
        "revoke {2: [2], 3: [3]} of b1 before g2",
        "commit [1]",
        "abort after 1 before g2",
    ]
    assert one.confirmed == 1
    assert history.log.view.abandonment_due == ()


def test_a_restore_of_an_abandoned_checkpoint_reinstates_its_revoked_output(history: JobWithSinks) -> None:
    _prepare(history, 2, 1)
    history.start(3, 3, 20)
    history.sink.calls.clear()
    _prepare(history, 3, 3)
    assert "reinstate b1 before g3" in history.sink.calls
    assert history.log.view.reinstatement_due == ()


def test_a_checkpoint_that_the_log_records_as_published_is_not_committed_again(history: JobWithSinks) -> None:
    assert _prepare(history, 2, 1).confirmed == 1
    assert history.log.read()[0].restore_point(CheckpointId(1)).published
    history.start(3, 1, 20)
    history.sink.calls.clear()
    assert _prepare(history, 3, 1).confirmed == 1
    assert not any(call.startswith("commit") for call in history.sink.calls)


def test_a_rollback_and_its_undo_warn_about_output_that_a_consumer_has_removed(history: JobWithSinks) -> None:
    history.sink.target = "/out"
    history.sink.missing = (MissingOutput(CheckpointId(2), 1, 1), MissingOutput(CheckpointId(3), 2, 2_000))
    one = history.sink_coordinator()
    (warning,) = one.prepare(Generation(2), CommitPermit(CheckpointId(1), Generation(2)))
    assert warning.startswith("Sink 'out' could not revoke 2,001 records (3 files) of checkpoints 2, 3, because a consumer has ")
    assert warning.endswith("has removed the files from /out. The job publishes these records again.")
    history.start(3, 3, 20)
    history.sink.missing = history.sink.missing[:1]
    (warning,) = one.prepare(Generation(3), CommitPermit(CheckpointId(3), Generation(3)))
    assert warning.startswith("Sink 'out' did not publish 1 record (1 file) of checkpoint 2 again, because a consumer had ")
    assert warning.endswith("had removed the files from /out before the rollback.")


def test_only_ancestors_after_the_last_published_checkpoint_are_committed_again() -> None:
    history = JobWithSinks()
    history.start(1, None, 1)
    for checkpoint in (1, 2, 3, 4):
        history.complete(1, checkpoint, unconfirmed=range(1, checkpoint))
    history.append(CheckpointPublished(Generation(1), CheckpointId(2), "p", 0))
    history.start(2, 4, 10)
    assert _prepare(history, 2, 4).confirmed == 4
    commits = [call for call in history.sink.calls if call.startswith("commit")]
    assert commits == ["commit [3]", "commit [4]"], "each call publishes one epoch, and no epoch is published twice"


def test_published_checkpoints_are_read_from_the_manifests_if_the_log_is_from_an_older_weir_version() -> None:
    history = JobWithSinks()
    history.start(1, None, 1)
    for checkpoint in (1, 2, 3):
        history.complete(1, checkpoint, published=max(0, checkpoint - 2))
    history.start(2, 3, 10)
    _prepare(history, 2, 3)
    assert [call for call in history.sink.calls if call.startswith("commit")] == ["commit [2]", "commit [3]"]


def test_a_checkpoint_counts_as_published_only_after_the_log_records_its_commit(history: JobWithSinks) -> None:
    def refuse(entry: Entry) -> None:
        raise UnknownOutcome("no answer")

    one = _prepare(history, 2, 1)
    history.complete(2, 10)
    with pytest.raises(UnknownOutcome):
        one._append = refuse
        one.commit(CommitPermit(CheckpointId(10), Generation(2)), (_committable(SINK, 2, 10),))
    assert one.confirmed == 1
    one._append = history.append
    one.commit(CommitPermit(CheckpointId(10), Generation(2)), (_committable(SINK, 2, 10),))
    assert one.confirmed == 10 and history.log.read()[0].restore_point(CheckpointId(10)).published


def test_the_epoch_of_a_failed_checkpoint_is_published_once_by_the_next_commit(history: JobWithSinks) -> None:
    one = _prepare(history, 2, 1)
    for checkpoint, epochs in ((11, (10, 11)), (12, (10, 11, 12))):
        history.complete(2, checkpoint)
        committables = tuple(_committable(SINK, 2, epoch) for epoch in epochs)
        one.commit(CommitPermit(CheckpointId(checkpoint), Generation(2)), committables)
    assert [call for call in history.sink.calls if call.startswith("commit")] == ["commit [1]", "commit [10, 11]", "commit [12]"]


class _Failing(Recording):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error: BaseException | None = error

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        super().commit(permit, committables)
        if self.error is not None:
            raise self.error


SECOND, THIRD = OperatorUid("second"), OperatorUid("third")


def _commit_ten(history: JobWithSinks, *others: Recording, commits: Executor | None = None) -> Callable[[], SinkCoordinator]:
    """Prepare generation 2. Return a function that commits checkpoint 10, with output of all sinks."""
    names = dict(zip((SECOND, THIRD), others, strict=False))
    one = history.sink_coordinator(commits=commits, others=dict(names))
    one.prepare(Generation(2), CommitPermit(CheckpointId(1), Generation(2)))
    history.complete(2, 10)

    def commit() -> SinkCoordinator:
        one.commit(CommitPermit(CheckpointId(10), Generation(2)), [_committable(sink, 2, 10) for sink in (*names, SINK)])
        return one

    return commit


def _is_published(history: JobWithSinks) -> bool:
    return history.log.read()[0].restore_point(CheckpointId(10)).published


def test_the_sinks_commit_a_checkpoint_at_the_same_time(history: JobWithSinks) -> None:
    all_commit = threading.Barrier(3, timeout=30)

    class Meeting(Recording):
        def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
            if permit.checkpoint == 10:
                all_commit.wait()

    history.sink = Meeting()
    with ThreadPoolExecutor(3) as pool:
        assert _commit_ten(history, Meeting(), Meeting(), commits=pool)().confirmed == 10


def test_if_one_sink_fails_the_other_sinks_end_their_commits_before_the_error_is_raised(history: JobWithSinks) -> None:
    full = _Failing(SinkError("/out: no space left", retry=Retry.BACKOFF))
    commit = _commit_ten(history, full)
    with pytest.raises(SinkError, match="^sink 'second': /out: no space left$") as raised:
        commit()
    assert raised.value.retry is Retry.BACKOFF
    assert history.sink.calls[-1] == "commit [10]"
    assert not _is_published(history), "a checkpoint is published when all sinks have committed it"
    full.error = None
    assert commit().confirmed == 10 and _is_published(history)


@pytest.mark.parametrize("error", [SinkError("a file is missing"), ZeroDivisionError("division by zero")])
def test_a_commit_is_not_retried_if_one_of_its_errors_is_permanent(history: JobWithSinks, error: BaseException) -> None:
    commit = _commit_ten(history, _Failing(StorageError("no answer")), _Failing(error))
    with pytest.raises(SinkError, match="^sink 'second': no answer; sink 'third': ") as raised:
        commit()
    assert raised.value.retry is Retry.NEVER and str(error) in str(raised.value)


def test_a_commit_is_superseded_if_one_sink_is_fenced_and_another_sink_fails(history: JobWithSinks) -> None:
    with pytest.raises(Superseded, match="generation 3"):
        _commit_ten(history, _Failing(SinkError("full")), _Failing(Superseded("generation 3 controls the output")))()


@pytest.mark.parametrize("step", ["revoke", "reinstate"])
def test_a_paused_process_detects_a_newer_generation_before_its_next_step(history: JobWithSinks, step: str) -> None:
    if step == "reinstate":
        _prepare(history, 2, 1)
        history.start(3, 3, 20)

    def newer_starts(now: str) -> None:
        generation = history.log.view.generation
        history.start(generation + 1, 1, 90)

    history.sink.before = newer_starts
    history.sink.calls.clear()
    with pytest.raises(Superseded):
        _prepare(history, 2 if step == "revoke" else 3, 1 if step == "revoke" else 3)
    assert not any(call.startswith("abort") for call in history.sink.calls)
    assert len([call for call in history.sink.calls if call.startswith(("revoke", "reinstate"))]) == 1


def test_a_superseded_generation_changes_nothing(history: JobWithSinks) -> None:
    history.start(3, 3, 20)
    with pytest.raises(Superseded):
        _prepare(history, 2, 1)
    assert history.sink.calls == []


def test_a_log_entry_is_not_written_again_if_an_earlier_attempt_has_written_it(history: JobWithSinks) -> None:
    def cut_off(entry: Entry) -> None:
        history.append(entry)
        raise UnknownOutcome("the connection was cut")

    with pytest.raises(UnknownOutcome):
        _prepare(history, 2, 1, cut_off)
    _prepare(history, 2, 1)
    assert history.log.view.abandonment_due == ()


def test_a_preparation_continues_if_the_log_refuses_a_duplicate_entry(history: JobWithSinks) -> None:
    def append_and_refuse(entry: Entry) -> None:
        history.append(entry)
        if isinstance(entry, BranchAbandoned):
            raise CheckpointError("the checkpoints are not on an abandoned branch")

    _prepare(history, 2, 1, append_and_refuse)
    assert history.log.view.abandonment_due == ()


def test_a_preparation_fails_if_the_log_refuses_the_entry_of_a_revocation(history: JobWithSinks) -> None:
    def refuse(entry: Entry) -> None:
        raise CheckpointError("invalid entry")

    with pytest.raises(CheckpointError, match="invalid entry"):
        _prepare(history, 2, 1, refuse)


def test_output_of_a_sink_that_was_removed_from_the_graph_is_committed_and_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    former = Recording()

    class FormerSink:
        def committer(self) -> Committer:
            return former

    monkeypatch.setattr(sinks, "sink_from", lambda config: FormerSink())
    history = JobWithSinks()
    history.start(1, None, 1)
    history.complete(1, 1, sinks=(SINK, FORMER))
    history.complete(1, 2, sinks=(SINK, FORMER))
    history.start(2, 1, 10)
    _prepare(history, 2, 1)
    assert former.calls == [
        "claim former start 1",
        "revoke {2: [2]} of b1 before g2",
        "commit [1]",
        "abort after 1 before g2",
    ]
    former.calls.clear()
    history.start(3, 1, 20)
    _prepare(history, 3, 1)
    assert former.calls == ["claim former start 1", "abort after 1 before g3"], "the checkpoint is already published"


def test_an_import_does_not_open_sinks_of_the_original_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "sink_from", lambda config: pytest.fail("a sink of the original job was opened"))
    history = JobWithSinks()
    history.start(1, None, 1)
    history.complete(1, 1)
    history.import_(2, 2, sinks=(FORMER,))
    history.start(3, 2, 3)
    _prepare(history, 3, 2)
    assert history.sink.calls == [
        "claim out start 1",
        "revoke {1: [1]} of b1 before g3",
        "abort after 2 before g3",
    ], "all output of the job is revoked, and no output of the original job is committed"
    history.sink.calls.clear()
    history.start(4, 1, 20)
    _prepare(history, 4, 1)
    assert "reinstate b1 before g4" in history.sink.calls, "the output can be reinstated"


def test_a_checkpoint_counts_as_published_only_after_its_commit_succeeded(history: JobWithSinks) -> None:
    one = _prepare(history, 2, 1)

    def refuse(permit: CommitPermit, committables: Sequence[Committable]) -> None:
        raise CheckpointError("no")

    history.sink.commit = refuse  # type: ignore[method-assign]  # it fails from here on
    with pytest.raises(SinkError, match="no"):
        one.commit(CommitPermit(CheckpointId(10), Generation(2)), (_committable(SINK, 2, 10),))
    assert one.confirmed == 1
