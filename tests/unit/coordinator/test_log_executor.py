from __future__ import annotations

import queue

from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.effect_runner import EffectRunner, MasterEvent
from weir.graph.compile import compile_graph
from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind
from weir.kernel.effects import AppendLog, Finish, JobOutcome
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


def start_during_a_checkpoint_of_another_driver(*, abandonable: frozenset[CheckpointId] | None) -> tuple[JobMaster, list[object]]:
    """Start generation 2 without state. Generation 1 completes a checkpoint after generation 2 has read the log and before
    generation 2 appends its entry."""
    storage, layout = MemoryStorage(), JobLayout("job")
    first_log = JobLog(storage, layout)
    first_log.append(GenerationStarted(Generation(1), None, "b1", CheckpointId(1), "n1", 0), at=1)
    second_log = JobLog(storage, layout)
    second_log.read()
    first_log.append(CheckpointCompleted(Generation(1), CheckpointId(1), "m", "c", 0, "n2", 0), at=2)
    master = JobMaster(GRAPH, JobConfig(), sources=(), generation=Generation(2), next_checkpoint=CheckpointId(50), restore=None)
    events: queue.SimpleQueue[MasterEvent] = queue.SimpleQueue()
    runner = EffectRunner(CompiledJob(GRAPH, {}, {}), storage, second_log, abandonable=abandonable)
    runner.start(events.put)
    _, append = master.start(0)
    assert isinstance(append, AppendLog)
    runner.submit(append)
    try:
        return master, list(events.get(timeout=10)(master, 1))
    finally:
        runner.close()


def test_a_resuming_run_stops_as_superseded_if_another_driver_completes_a_checkpoint() -> None:
    _, effects = start_during_a_checkpoint_of_another_driver(abandonable=frozenset())
    (finish,) = effects
    assert isinstance(finish, Finish)
    assert finish.outcome is JobOutcome.SUPERSEDED


def test_a_run_that_rolls_back_continues_although_another_driver_completes_a_checkpoint() -> None:
    master, _ = start_during_a_checkpoint_of_another_driver(abandonable=None)
    assert master.phase is JobPhase.PREPARING
