from __future__ import annotations

import queue

from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.effect_runner import EffectRunner, MasterEvent
from weir.graph.compile import compile_graph
from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind
from weir.kernel.effects import AppendLog, Finish, Outcome
from weir.kernel.job import JobConfig, JobMaster, JobPhase
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import CheckpointCompleted, GenerationStarted
from weir.storage.job_log import JobLog
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


def starts_while_another_completes_a_checkpoint(*, abandonable: frozenset[CheckpointId] | None) -> tuple[JobMaster, list[object]]:
    """The second generation starts without state. Between its read of the log and its entry the first generation continues."""
    storage, layout = MemoryStorage(), JobLayout("job")
    other = JobLog(storage, layout)
    other.append(GenerationStarted(Generation(1), None, "b1", CheckpointId(1), "n1", 0), at=1)
    mine = JobLog(storage, layout)
    mine.read()
    other.append(CheckpointCompleted(Generation(1), CheckpointId(1), "m", "c", 0, "n2", 0), at=2)
    master = JobMaster(GRAPH, JobConfig(), sources=(), generation=Generation(2), next_checkpoint=CheckpointId(50), restore=None)
    events: queue.SimpleQueue[MasterEvent] = queue.SimpleQueue()
    runner = EffectRunner(CompiledJob(GRAPH, {}, {}), storage, mine, abandonable=abandonable)
    runner.start(events.put)
    (append,) = master.start(0)
    assert isinstance(append, AppendLog)
    runner.submit(append)
    try:
        return master, list(events.get(timeout=10)(master, 1))
    finally:
        runner.close()


def test_a_resume_stops_instead_of_revoking_newer_checkpoints() -> None:
    _, effects = starts_while_another_completes_a_checkpoint(abandonable=frozenset())
    (finish,) = effects
    assert isinstance(finish, Finish)
    assert finish.outcome is Outcome.SUPERSEDED


def test_a_rollback_proceeds_even_if_newer_checkpoints_completed() -> None:
    master, _ = starts_while_another_completes_a_checkpoint(abandonable=None)
    assert master.phase is JobPhase.PREPARING
