"""From a job, its options and its history in storage to what is to be run. Needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from weir.connectors.base import Source
from weir.connectors.registry import sink_from, source_from
from weir.coordinator.plan import JobPlan
from weir.coordinator.start import StartPoint, find_start, restore_point
from weir.errors import GraphError
from weir.graph.checks import label
from weir.graph.compatibility import check_restorable
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CheckpointConfig
from weir.kernel.job import JobConfig, JobMaster
from weir.operators.bundle import CodeBundle
from weir.protocol import codec
from weir.protocol.ids import OperatorUid
from weir.protocol.manifest import Manifest
from weir.spark.options import RunOptions
from weir.storage.base import CheckpointStorage
from weir.transport.control import MESSAGE_BYTES_MAX

GRAPH_BYTES_MAX = MESSAGE_BYTES_MAX - (4 << 20)
"""Encoded. What is left is for the rest of the message that deploys it: addresses, positions, names of state files."""


class JobLike(Protocol):
    """What ``weir.Job`` offers; this layer is above it."""

    @property
    def name(self) -> str: ...
    def to_graph(self) -> tuple[LogicalGraph, CodeBundle]: ...
    def sources(self) -> Mapping[OperatorUid, Source]: ...


@dataclass(frozen=True, slots=True)
class Planned:
    """``left_behind``: operators of the checkpoint that the graph no longer has, whose state the user gives up.
    ``notes``: about the restore, for people."""

    plan: JobPlan
    start: StartPoint
    left_behind: tuple[OperatorUid, ...]
    notes: tuple[str, ...]

    def job_master(self) -> JobMaster:
        """One that has not been started; it goes on with the numbers of the job's log."""
        view, manifest = self.start.view, self.start.manifest
        return JobMaster(
            self.plan.graph,
            self.plan.config,
            sources=self.plan.sources,
            generation=view.next_generation,
            next_checkpoint=view.unseen_checkpoint,
            restore=restore_point(manifest).without(self.left_behind) if manifest is not None else None,
        )


def plan_job(job: JobLike, storage: CheckpointStorage, options: RunOptions) -> Planned:
    """Reads storage, changes nothing. Raises GraphError, ConfigError, CheckpointError, RestoreError."""
    logical, _ = job.to_graph()
    start = find_start(storage, job.name, options.start)
    graph, left_behind, notes = _compile(logical, start.manifest, options)
    _check_size(graph)
    plan = JobPlan(
        graph=graph,
        sources={one.uid: source_from(one.config) for one in logical.operators if one.kind is OperatorKind.SOURCE},
        committers={one.uid: sink_from(one.config).committer() for one in logical.operators if one.kind is OperatorKind.SINK},
        config=_job_config(options),
        retained=options.retained,
    )
    return Planned(plan, start, left_behind, notes)


def check_fits(job: JobLike, manifest: Manifest, options: RunOptions) -> tuple[str, ...]:
    """Whether ``job`` could go on with this checkpoint; notes for people. Changes nothing. Raises GraphError, RestoreError."""
    return _compile(job.to_graph()[0], manifest, options)[2]


def _compile(
    logical: LogicalGraph, manifest: Manifest | None, options: RunOptions
) -> tuple[PhysicalGraph, tuple[OperatorUid, ...], tuple[str, ...]]:
    if manifest is None:
        return compile_graph(logical, slots=options.parallelism), (), ()
    old = codec.from_json(PhysicalGraph, manifest.graph)
    graph = compile_graph(logical, slots=options.parallelism, fixed_max_parallelism=old.max_parallelism)
    fit = check_restorable(
        graph,
        checkpointed=old.logical,
        max_parallelism=old.max_parallelism,
        allow_non_restored_state=options.allow_non_restored_state,
    )
    return graph, fit.dropped, fit.notes


def _check_size(graph: PhysicalGraph) -> None:
    """Too large to be sent, it would cost one slot after the other its connection, and say nothing of why."""
    encoded = len(codec.dumps(graph))
    if encoded <= GRAPH_BYTES_MAX:
        return
    largest = max(graph.logical.operators, key=lambda operator: len(codec.dumps(operator)))
    raise GraphError(
        f"job {graph.logical.job!r}: its graph takes {_mib(encoded)}, and at most {_mib(GRAPH_BYTES_MAX)} can be sent to a slot. "
        f"The largest part is {label(largest)} with {_mib(len(codec.dumps(largest)))}: write its rows to a file and read that"
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
        heartbeat_timeout_ms=options.heartbeat_timeout_ms,
        lease_ms=2 * options.heartbeat_timeout_ms,
        slots_timeout_ms=options.slots_timeout_ms,
    )
