"""Looking into checkpoint storage for what a plan would do."""

from __future__ import annotations

from typing import Any

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId
from weir.storage.inspection import verify
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest
from weir.storage.open import open_storage
from weir_backend.jobs import repository as jobs
from weir_backend.kit.alone import Work, alone
from weir_backend.kit.tasks import RECONCILE
from weir_backend.reconciling import runs
from weir_backend.recovery import repository, service
from weir_backend.recovery.schemas import Inspection, SinkEffect, SourcePosition
from weir_backend.recovery.sinks import sinks_of
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)
SPLITS_SHOWN = 50


@task("weir.inspect", time_limit_s=115)
def inspect(plan_id: int) -> None:
    """Whether its checkpoint is whole, what would be left behind, what would be read again."""
    context = current()
    # It may take longer than somebody waits who asks again.
    with alone(context.database, Work.INSPECT, plan_id) as ours:
        if ours:
            _inspect(context, plan_id)


def _inspect(context: Context, plan_id: int) -> None:
    with context.database.session() as session:
        plan = repository.find(session, plan_id)
        job = jobs.find(session, plan.job_id) if plan is not None else None
        if plan is None or job is None:
            return
        spec = jobs.find_spec(session, job.id, plan.request["spec"])
        assert spec is not None
        graph = jobs.find_graph(session, spec.graph_id) if spec.graph_id is not None else None
        directory = runs.directory(context.settings, job, spec)
    found = look_into(directory, plan.preview["checkpoint"], graph.body if graph else None)
    with context.database.session() as session:
        waiting = service.inspected(session, context.settings, plan_id, found)
    if waiting is not None:
        context.tasks.enqueue(RECONCILE, waiting)


def look_into(directory: str, checkpoint: int | None, graph: dict[str, Any] | None) -> Inspection:
    """``checkpoint`` None: the job goes on from the one that it will be stopped with, so there is nothing to look at yet."""
    sinks = [SinkEffect(sink=uid, kind=kind, revocable=revocable) for uid, kind, revocable in sinks_of(graph)] if graph else []
    if checkpoint is None:
        return Inspection(
            whole=True, damage=None, files=0, bytes=0, abandoned=[], returning=[], sources=[], sinks=sinks, notes=[]
        )
    try:
        return _look_into(directory, CheckpointId(checkpoint), graph, sinks)
    except (CheckpointError, StorageError, ConfigError) as error:
        return Inspection(
            whole=False, damage=str(error), files=0, bytes=0, abandoned=[], returning=[], sources=[], sinks=sinks, notes=[]
        )


def _look_into(directory: str, checkpoint: CheckpointId, graph: dict[str, Any] | None, sinks: list[SinkEffect]) -> Inspection:
    storage = open_storage(directory)
    name = graph["logical"]["job"] if graph is not None else None
    if name is None:
        raise ConfigError("the graph of the job is not known, so its checkpoints cannot be found")
    layout = JobLayout(name)
    view, _ = JobLog(storage, layout).read()
    record = view.restore_point(checkpoint)
    manifest = read_manifest(storage, layout, record)
    report = verify(storage, layout, checkpoint)
    positions: dict[str, list[Any]] = {}
    for operator in manifest.operators():
        if operator.splits:
            positions.setdefault(operator.operator, []).extend(codec.to_json(split) for split in operator.splits)
    line = set(view.ancestry(checkpoint))
    return Inspection(
        whole=report.intact,
        damage="; ".join(f"{one.path} {one.problem}" for one in report.problems[:3]) or None,
        files=report.files,
        bytes=report.bytes,
        abandoned=list(view.left_behind_by(checkpoint)),
        returning=sorted(line - set(view.current)),
        sources=[SourcePosition(source=uid, splits=splits[:SPLITS_SHOWN]) for uid, splits in sorted(positions.items())],
        sinks=sinks,
        notes=[
            f"{len(splits)} unfinished splits of {uid}" for uid, splits in sorted(positions.items()) if len(splits) > SPLITS_SHOWN
        ],
    )
