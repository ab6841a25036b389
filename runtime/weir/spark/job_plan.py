"""The plan of a run, which is computed from a job, its options and its checkpoints. Planning does not need Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

from weir.connectors.base import Source
from weir.connectors.registry import sink_from, source_from
from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.start import FirstNumbers, StartPoint, find_start, restore_point
from weir.errors import GraphError
from weir.graph.compatibility import check_restorable, ended_sources, incomplete_sources
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.config import CheckpointConfig
from weir.kernel.job import JobConfig, JobMaster
from weir.operators.code_bundle import CodeBundle
from weir.protocol import codec
from weir.protocol.ids import OperatorUid
from weir.protocol.manifest import Manifest
from weir.spark.options import RunOptions
from weir.storage.base import CheckpointStorage
from weir.transport.control import MESSAGE_BYTES_MAX

GRAPH_BYTES_MAX = MESSAGE_BYTES_MAX - (4 << 20)
"""Maximum encoded size of a graph. The Deploy message that contains the graph also needs space for addresses, positions and
names of state files.
"""


class JobLike(Protocol):
    """The part of ``weir.Job`` that this package uses. ``weir.Job`` itself is in a higher layer, which this package cannot
    import."""

    @property
    def name(self) -> str: ...
    def to_graph(self) -> tuple[LogicalGraph, CodeBundle]: ...
    def sources(self) -> Mapping[OperatorUid, Source]: ...


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned run. ``non_restored`` are the operators of the checkpoint that the graph does not contain. Their state is
    dropped. ``notes`` are messages for the user about the restore."""

    plan: CompiledJob
    start: StartPoint
    non_restored: tuple[OperatorUid, ...]
    notes: tuple[str, ...]

    def job_master(self, first: FirstNumbers) -> JobMaster:
        """Return a job master that is not started. The job master takes its generation and its next checkpoint id from the job
        log, or from ``first`` if the number in ``first`` is higher."""
        view, manifest = self.start.view, self.start.manifest
        return JobMaster(
            self.plan.graph,
            self.plan.config,
            sources=self.plan.sources,
            generation=max(view.next_generation, first.generation),
            next_checkpoint=max(view.next_unused_checkpoint, first.checkpoint),
            restore=restore_point(manifest).without(self.non_restored) if manifest is not None else None,
            discover_every_ms=self.plan.discover_every_ms,
        )


def plan_job(job: JobLike, storage: CheckpointStorage, options: RunOptions) -> PlannedRun:
    """Plan a run. Planning reads storage and changes nothing. Raise GraphError, ConfigError, CheckpointError or
    RestoreError."""
    logical, _ = job.to_graph()
    start = find_start(storage, job.name, options.start)
    graph, non_restored, notes = _compile(logical, start.manifest, options)
    _check_size(graph)
    plan = CompiledJob(
        graph=graph,
        sources={
            operator.uid: source_from(operator.config) for operator in logical.operators if operator.kind is OperatorKind.SOURCE
        },
        committers={
            operator.uid: sink_from(operator.config).committer()
            for operator in logical.operators
            if operator.kind is OperatorKind.SINK
        },
        config=_job_config(options),
        retained=options.retained,
    )
    return PlannedRun(plan, start, non_restored, notes)


def check_compatible(job: JobLike, manifest: Manifest, options: RunOptions) -> tuple[str, ...]:
    """Check that ``job`` can restore the checkpoint of ``manifest``, and return notes for the user. Storage is not changed.
    Raise GraphError or RestoreError."""
    return _compile(job.to_graph()[0], manifest, options)[2]


def _compile(
    logical: LogicalGraph, manifest: Manifest | None, options: RunOptions
) -> tuple[PhysicalGraph, tuple[OperatorUid, ...], tuple[str, ...]]:
    if manifest is None:
        return compile_graph(logical, slots=options.parallelism), (), ()
    old = codec.from_json(PhysicalGraph, manifest.graph)
    graph = compile_graph(logical, slots=options.parallelism, fixed_max_parallelism=old.max_parallelism)
    compatibility = check_restorable(
        graph,
        checkpointed=old.logical,
        max_parallelism=old.max_parallelism,
        allow_non_restored_state=options.allow_non_restored_state,
        ended=ended_sources(manifest, old),
        incomplete=incomplete_sources(manifest),
    )
    return graph, compatibility.dropped, compatibility.notes


def _check_size(graph: PhysicalGraph) -> None:
    """Raise GraphError if the graph is too large to be sent. If such a graph were sent, each slot would lose its connection, and
    no message would give the reason."""
    encoded = len(codec.dumps(graph))
    if encoded <= GRAPH_BYTES_MAX:
        return
    largest = max(graph.logical.operators, key=lambda operator: len(codec.dumps(operator)))
    raise GraphError(
        f"The graph of job {graph.logical.job!r} has {_mib(encoded)}, but at most {_mib(GRAPH_BYTES_MAX)} can be sent to a slot. "
        f"The largest part is {largest.label} with {_mib(len(codec.dumps(largest)))}. "
        "Write the rows of this operator to a file and read that file."
    )


def _mib(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"


def _job_config(options: RunOptions) -> JobConfig:
    return JobConfig(
        checkpoints=CheckpointConfig(
            interval_ms=options.interval_ms,
            timeout_ms=options.checkpoint_timeout_ms,
            min_pause_ms=options.min_pause_ms,
            tolerable_failed_checkpoints=options.tolerable_failed_checkpoints,
        ),
        restarts=options.restarts,
        recovery=options.recovery,
        lease_ms=2 * options.timeouts.heartbeat_timeout_ms,
        **asdict(options.timeouts),
    )
