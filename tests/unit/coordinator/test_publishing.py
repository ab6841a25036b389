"""What a generation does to sinks before it runs: fenced, repeatable, and also for sinks that the graph no longer has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.unit.coordinator.test_log_lane import COLUMNS, GRAPH

from weir.connectors.base import Committer, Line
from weir.coordinator import publishing
from weir.coordinator.plan import JobPlan
from weir.coordinator.publishing import Publishing
from weir.errors import CheckpointError, SinkError, Superseded, UnknownOutcome
from weir.graph.compile import compile_graph
from weir.graph.logical import Input, LogicalGraph, LogicalOperator, OperatorKind
from weir.kernel.checkpoints import CommitPermit
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.joblog import CheckpointCompleted, CheckpointImported, Entry, GenerationStarted
from weir.protocol.logview import LogView
from weir.protocol.manifest import Manifest, Origin, summarise
from weir.protocol.snapshots import Committable, OperatorSnapshot, SubtaskSnapshot, SubtaskStatistics
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import WrittenManifest, write_manifest
from weir.storage.memory import MemoryStorage

SINK, FORMER = OperatorUid("out"), OperatorUid("former")
LAYOUT = JobLayout("job")


@dataclass
class Recording(Committer):
    """Notes what it is told. ``before``: called ahead of each step that changes what readers see."""

    revocable = True
    told: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda step: None

    def claim(self, *, job: str, sink: str, history: str | None = None) -> None:
        self.told.append(f"claim {sink} {history}")

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        self.told.append(f"commit {[one.checkpoint for one in committables]}")

    def abort_after(self, checkpoint: CheckpointId, *, before_generation: Generation) -> None:
        self.told.append(f"abort after {checkpoint} before g{before_generation}")

    def abandon(
        self, committables: Sequence[Committable], *, line: Line, branch: str, before_generation: Generation | None = None
    ) -> None:
        self.before("abandon")
        self.told.append(f"abandon {[one.checkpoint for one in committables]} of {branch} before g{before_generation}")

    def reinstate(self, *, line: Line, branch: str, before_generation: Generation | None = None) -> None:
        self.before("reinstate")
        self.told.append(f"reinstate {branch} before g{before_generation}")


def _graph(*sinks: OperatorUid) -> Any:
    source = LogicalOperator(OperatorUid("in"), "in", OperatorKind.SOURCE, (), COLUMNS, "")
    outs = [LogicalOperator(sink, sink, OperatorKind.SINK, (Input(OperatorUid("in")),), COLUMNS, "") for sink in sinks]
    return compile_graph(LogicalGraph("job", (source, *outs)), slots=1)


def _committable(sink: OperatorUid, generation: int, checkpoint: int) -> Committable:
    return Committable("job", sink, Generation(generation), CheckpointId(checkpoint), 0, None)


class History:
    """A job's log and manifests, and a ``Publishing`` over them."""

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

    def complete(self, generation: int, checkpoint: int, *, sinks: Sequence[OperatorUid] = (SINK,), published: int = 0) -> None:
        written = self._manifest(generation, checkpoint, sinks, published)
        self.append(
            CheckpointCompleted(
                Generation(generation), CheckpointId(checkpoint), written.path, written.checksum, 0, f"c{checkpoint}", 0
            )
        )

    def import_(self, generation: int, checkpoint: int, *, sinks: Sequence[OperatorUid]) -> None:
        origin = Origin("file:///elsewhere/job", CheckpointId(1), "c")
        written = self._manifest(generation, checkpoint, sinks, checkpoint, origin)
        branch = f"b{generation}"
        self.append(
            CheckpointImported(
                Generation(generation), CheckpointId(checkpoint), branch, written.path, written.checksum, 0, f"i{checkpoint}", 0
            )
        )

    def _manifest(
        self, generation: int, checkpoint: int, sinks: Sequence[OperatorUid], published: int, origin: Origin | None = None
    ) -> WrittenManifest:
        operators = tuple(OperatorSnapshot(sink, 0, committables=(_committable(sink, generation, checkpoint),)) for sink in sinks)
        subtasks = (SubtaskSnapshot(0, 0, operators, (), (), False, SubtaskStatistics()),)
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
                statistics=summarise(subtasks, end_to_end_ms=1.0),
                published_up_to=CheckpointId(published),
                imported_from=origin,
            ),
        )

    def publishing(self, append: Callable[[Entry], None] | None = None) -> Publishing:
        return Publishing(
            JobPlan(GRAPH, {}, {SINK: self.sink}), self.storage, current_view=self.view, append=append or self.append
        )

    def view(self, generation: Generation) -> LogView:
        view = self.log.read()[0]
        if view.generation > generation:
            raise Superseded("a newer one runs")
        return view


@pytest.fixture
def history() -> History:
    """Checkpoints 1, 2 and 3 of generation 1, the last not known to be published; generation 2 has gone back to 1."""
    history = History()
    history.start(1, None, 1)
    for checkpoint in (1, 2, 3):
        history.complete(1, checkpoint, published=checkpoint - 1)
    history.start(2, 1, 10)
    return history


def _prepare(history: History, generation: int, restored: int, append: Callable[[Entry], None] | None = None) -> Publishing:
    one = history.publishing(append)
    one.prepare(Generation(generation), CommitPermit(CheckpointId(restored), Generation(generation)))
    return one


def test_the_place_is_claimed_then_committed_again_then_taken_back_then_swept(history: History) -> None:
    one = _prepare(history, 2, 1)
    assert history.sink.told == [
        "claim out start 1",
        "commit [1]",
        "abandon [2, 3] of b1 before g2",
        "abort after 1 before g2",
    ]
    assert one.confirmed == 1
    assert history.log.view.abandonment_due == ()


def test_what_was_left_is_given_back_when_history_returns_to_it(history: History) -> None:
    _prepare(history, 2, 1)
    history.start(3, 3, 20)
    history.sink.told.clear()
    _prepare(history, 3, 3)
    assert "reinstate b1 before g3" in history.sink.told
    assert history.log.view.reinstatement_due == ()


def test_what_is_given_back_is_looked_at_before_the_log_says_so(history: History) -> None:
    _prepare(history, 2, 1)
    history.start(3, 3, 20)
    commit = history.sink.commit

    def missing(permit: CommitPermit, committables: Sequence[Committable]) -> None:
        if any(one.checkpoint == 2 for one in committables):
            raise SinkError("part-c2: neither published nor staged any more")
        commit(permit, committables)

    history.sink.commit = missing  # type: ignore[method-assign]  # somebody deleted it meanwhile
    with pytest.raises(SinkError, match="part-c2"):
        _prepare(history, 3, 3)
    assert history.log.view.reinstatement_due != ()


@pytest.mark.parametrize("step", ["abandon", "reinstate"])
def test_who_sleeps_through_a_newer_generation_learns_it_before_the_next_step(history: History, step: str) -> None:
    if step == "reinstate":
        _prepare(history, 2, 1)
        history.start(3, 3, 20)

    def newer_starts(now: str) -> None:
        generation = history.log.view.generation
        history.start(generation + 1, 1, 90)

    history.sink.before = newer_starts
    history.sink.told.clear()
    with pytest.raises(Superseded):
        _prepare(history, 2 if step == "abandon" else 3, 1 if step == "abandon" else 3)
    assert not any(told.startswith("abort") for told in history.sink.told)
    assert len([told for told in history.sink.told if told.startswith(("abandon", "reinstate"))]) == 1


def test_a_superseded_generation_touches_nothing(history: History) -> None:
    history.start(3, 3, 20)
    with pytest.raises(Superseded):
        _prepare(history, 2, 1)
    assert history.sink.told == []


def test_an_entry_that_an_earlier_try_wrote_without_hearing_of_it_is_not_missed(history: History) -> None:
    def cut_off(entry: Entry) -> None:
        history.append(entry)
        raise UnknownOutcome("the connection was cut")

    with pytest.raises(UnknownOutcome):
        _prepare(history, 2, 1, cut_off)
    _prepare(history, 2, 1)
    assert history.log.view.abandonment_due == ()


def test_an_entry_that_lands_late_is_taken_for_what_it_is(history: History) -> None:
    def overtaken(entry: Entry) -> None:
        history.append(entry)
        raise CheckpointError("it names checkpoints that are not left behind on branch b1")

    _prepare(history, 2, 1, overtaken)
    assert history.log.view.abandonment_due == ()


def test_an_entry_that_cannot_be_is_an_error_while_its_matter_is_still_due(history: History) -> None:
    def refuse(entry: Entry) -> None:
        raise CheckpointError("it cannot be")

    with pytest.raises(CheckpointError, match="it cannot be"):
        _prepare(history, 2, 1, refuse)


def test_a_sink_that_the_graph_no_longer_has_is_committed_and_taken_back_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    former = Recording()

    class FormerSink:
        def committer(self) -> Committer:
            return former

    monkeypatch.setattr(publishing, "sink_from", lambda config: FormerSink())
    history = History()
    history.start(1, None, 1)
    history.complete(1, 1, sinks=(SINK, FORMER))
    history.complete(1, 2, sinks=(SINK, FORMER))
    history.start(2, 1, 10)
    _prepare(history, 2, 1)
    assert former.told == [
        "claim former start 1",
        "commit [1]",
        "abandon [2] of b1 before g2",
        "abort after 1 before g2",
    ]


def test_sinks_of_the_job_that_a_checkpoint_was_imported_from_are_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "sink_from", lambda config: pytest.fail("the sink of another history is opened"))
    history = History()
    history.start(1, None, 1)
    history.complete(1, 1)
    history.import_(2, 2, sinks=(FORMER,))
    history.start(3, 2, 3)
    _prepare(history, 3, 2)
    assert history.sink.told == [
        "claim out start 1",
        "abandon [1] of b1 before g3",
        "abort after 2 before g3",
    ], "all that the job had published goes, nothing of the other job's is committed"
    history.sink.told.clear()
    history.start(4, 1, 20)
    _prepare(history, 4, 1)
    assert "reinstate b1 before g4" in history.sink.told, "and one can go back"


def test_nothing_counts_as_published_before_all_of_it_is(history: History) -> None:
    one = _prepare(history, 2, 1)

    def refuse(permit: CommitPermit, committables: Sequence[Committable]) -> None:
        raise CheckpointError("no")

    history.sink.commit = refuse  # type: ignore[method-assign]  # one that fails from here on
    with pytest.raises(CheckpointError):
        one.commit(CommitPermit(CheckpointId(10), Generation(2)), (_committable(SINK, 2, 10),))
    assert one.confirmed == 1
