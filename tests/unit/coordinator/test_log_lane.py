from __future__ import annotations

import queue

from weir.coordinator.plan import JobPlan
from weir.coordinator.runner import EffectRunner, Event
from weir.graph.compile import compile_graph
from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind
from weir.kernel.effects import AppendLog, Finish, Outcome
from weir.kernel.job import JobConfig, JobMaster, JobPhase
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.joblog import CheckpointCompleted, GenerationStarted
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage

COLUMNS = (Column("key", "int64"),)
GRAPH = compile_graph(
    LogicalGraph(
        "job",
        (
            LogicalOperator(OperatorUid("in"), "in", OperatorKind.SOURCE, (), COLUMNS, ""),
            LogicalOperator(OperatorUid("out"), "out", OperatorKind.SINK, (Input(OperatorUid("in")),), COLUMNS, ""),
        ),
    ),
    slots=1,
)


def starts_while_another_completes_a_checkpoint(
    *, may_leave_behind: frozenset[CheckpointId] | None
) -> tuple[JobMaster, list[object]]:
    """The second generation is to begin from nothing; between its look at the log and its entry the first one goes on."""
    storage, layout = MemoryStorage(), JobLayout("job")
    other = JobLog(storage, layout)
    other.append(GenerationStarted(Generation(1), None, "b1", CheckpointId(1), "n1", 0), at=1)
    mine = JobLog(storage, layout)
    mine.read()
    other.append(CheckpointCompleted(Generation(1), CheckpointId(1), "m", "c", 0, "n2", 0), at=2)
    master = JobMaster(GRAPH, JobConfig(), sources=(), generation=Generation(2), next_checkpoint=CheckpointId(50), restore=None)
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    runner = EffectRunner(JobPlan(GRAPH, {}, {}), storage, mine, may_leave_behind=may_leave_behind)
    runner.start(events.put)
    (append,) = master.start(0)
    assert isinstance(append, AppendLog)
    runner.submit(append)
    try:
        return master, list(events.get(timeout=10)(master, 1))
    finally:
        runner.close()


def test_a_resume_that_was_overtaken_stops_instead_of_taking_back_what_is_committed() -> None:
    _, effects = starts_while_another_completes_a_checkpoint(may_leave_behind=frozenset())
    (finish,) = effects
    assert isinstance(finish, Finish)
    assert finish.outcome is Outcome.SUPERSEDED


def test_a_chosen_checkpoint_is_gone_back_to_whatever_was_completed_meanwhile() -> None:
    master, _ = starts_while_another_completes_a_checkpoint(may_leave_behind=None)
    assert master.phase is JobPhase.PREPARING
