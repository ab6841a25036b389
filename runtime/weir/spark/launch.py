"""Running a job on Spark: graph, session, coordinator and slots put together, and taken apart again."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping
from functools import partial

import structlog
from pyspark.sql import SparkSession

from weir.connectors.spark_query import SparkQuerySource
from weir.coordinator.driver import Coordinator, SlotControl
from weir.coordinator.listening import Listener
from weir.coordinator.plan import JobPlan
from weir.coordinator.progress import Progress
from weir.coordinator.runner import EffectRunner
from weir.coordinator.start import find_start, leaves_behind
from weir.errors import ConfigError, StorageError
from weir.link.run import RunLink
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap
from weir.protocol.manifest import Manifest
from weir.protocol.snapshots import JsonValue
from weir.spark.code import pack_code
from weir.spark.commands import carry_out
from weir.spark.job_plan import JobLike, Planned, plan_job
from weir.spark.options import RunOptions
from weir.spark.planner import LazySession
from weir.spark.running import JobResult, RunningJob
from weir.spark.session import driver_address
from weir.spark.slots import SlotLoss, SlotPool
from weir.spark.staged_rows import StagedRows
from weir.spark.tidying import tidy_up
from weir.storage.base import CheckpointStorage
from weir.storage.memory import MemoryStorage
from weir.storage.open import open_storage
from weir.storage.probe import probe
from weir.subtask.process_settings import ProcessSettings
from weir.subtask.shared_storage import SharedStorage
from weir.transport.control import ControlServer
from weir.transport.handshake import Credentials

__all__ = ["JobLike", "JobResult", "RunOptions", "RunningJob", "launch", "run_job", "session_for"]

log = structlog.get_logger(__name__)


def session_for(options: RunOptions, job: str) -> LazySession:
    """One that fits ``options``: to build jobs with Spark queries in (``planning``), then to ``launch`` with."""
    slots = options.parallelism + options.spares
    return LazySession(options.master, slots, app_name=f"weir {job}", conf=options.spark_conf)


def launch(job: JobLike, options: RunOptions, *, session: LazySession | None = None, link: RunLink | None = None) -> RunningJob:
    """Check everything that can be checked before anything runs, then start. ``session``: left open afterwards; None:
    one of its own. ``link``: to the control plane that the run belongs to; closed when the job has ended, and the caller's own
    again if this raises.

    Raises GraphError, ConfigError, CheckpointError, RestoreError, SlotError: nothing has been changed then.
    """
    job.to_graph()
    storage = open_storage(options.checkpoint_dir, dict(options.storage_options))
    if isinstance(storage, MemoryStorage):
        raise ConfigError(
            f"checkpoints cannot go to {storage.url}: each slot would have a memory of its own, and nothing could be restored; "
            "name a directory that all slots reach, or an object store (s3://bucket/prefix)"
        )
    probe(storage)
    restored = find_start(storage, job.name, options.start).manifest
    own = session or session_for(options, job.name)
    try:
        with own.planning():
            _stage_queries(job, _staged_rows(job.name, storage, options), restored)
        return _launch(job, storage, options, own, link, close_session=session is None)
    except BaseException:
        if session is None:
            own.close()
        raise


def _staged_rows(job: str, storage: CheckpointStorage, options: RunOptions) -> StagedRows:
    return StagedRows(storage, job, options.staging_dir)


def _stage_queries(job: JobLike, rows: StagedRows, restored: Manifest | None) -> None:
    for uid, source in job.sources().items():
        if isinstance(source, SparkQuerySource):
            source.stage(rows.directory(uid, restored))


def _launch(
    job: JobLike,
    storage: CheckpointStorage,
    options: RunOptions,
    session: LazySession,
    link: RunLink | None,
    *,
    close_session: bool,
) -> RunningJob:
    # What does not fit is refused before Spark is started.
    plan = plan_job(job, storage, options).plan
    code = pack_code(job.to_graph()[1].entries, by_value=options.by_value)
    return _start(
        plan,
        # Spark takes seconds to come up. Meanwhile a process that is not quite dead may have gone on with the job.
        lambda: plan_job(job, storage, options),
        storage=storage,
        code=code,
        spark=session.get(),
        end_session=session.close if close_session else lambda: None,
        link=link,
        options=options,
    )


def _start(
    plan: JobPlan,
    plan_again: Callable[[], Planned],
    *,
    storage: CheckpointStorage,
    code: Mapping[str, bytes],
    spark: SparkSession,
    end_session: Callable[[], None],
    link: RunLink | None,
    options: RunOptions,
) -> RunningJob:
    """``plan``: as far as Spark must know it; ``plan_again``: with the newest of the job's history."""
    run = secrets.randbits(63)
    secret = secrets.token_bytes(32)
    address = driver_address(spark)
    server = ControlServer(
        Credentials(secret, plan.job),
        host=address.bind,
        ports=options.control_ports,
        generation=run,
        incarnation=f"coordinator-{run:x}"[:60],
        note=lambda text: log.debug("control plane", what=text),
    )
    bootstrap = SlotBootstrap(
        job=plan.job,
        host=address.advertise,
        port=server.port,
        secret=secret,
        code=code,
        data_ports=options.data_ports,
        lease_ms=plan.config.lease_ms,
        settings=_process_settings(run, storage, options),
    )
    told: list[Callable[[str], None]] = []
    """Who is told of losses, once there is a coordinator."""

    def on_loss(loss: SlotLoss) -> None:
        _tell_loss(loss)
        for tell in tuple(told):
            tell(loss.reason)

    pool = SlotPool(spark, plan.graph.slots, bootstrap, spares=options.spares, on_loss=on_loss)
    mark = SharedStorage(storage, plan.job, run)
    try:
        mark.announce()
        earlier_marks = mark.others()
        pool.start()
        planned = plan_again()
        coordinator, progress = _coordinator(planned, storage, options, server, pool, link)
    except BaseException:
        pool.close(grace_s=0.0)
        server.close()
        with contextlib.suppress(StorageError):
            mark.withdraw()
        raise
    told.append(coordinator.slot_ended_early)
    pool.report_failures(lambda error: coordinator.fail(str(error), type(error).__name__))
    if link is not None:
        link.start(partial(carry_out, coordinator), coordinator.taken)

    def close() -> None:
        try:
            pool.close(grace_s=3.0)
            server.close()
            tidy_up(_staged_rows(plan.job, storage, options), mark, earlier_marks, progress.snapshot())
        finally:
            if link is not None:
                link.close()
            end_session()

    return RunningJob(coordinator, progress, planned.plan.committers, close, planned.notes)


def _tell_loss(loss: SlotLoss) -> None:
    """Spark alone knows of a container that was killed for its memory."""
    log.warning("slot ended early, starting it again", slot=loss.index, how=str(loss.ending), reason=loss.reason)


def _process_settings(run: int, storage: CheckpointStorage, options: RunOptions) -> Mapping[str, JsonValue]:
    settings = codec.to_json(
        ProcessSettings(
            run=run,
            storage_url=storage.url,
            storage_options=dict(options.storage_options),
            batch_rows=options.batch_rows,
            logs=options.logs,
        )
    )
    assert isinstance(settings, dict)
    return settings


def _coordinator(
    planned: Planned,
    storage: CheckpointStorage,
    options: RunOptions,
    server: ControlServer,
    pool: SlotPool,
    link: RunLink | None,
) -> tuple[Coordinator, Progress]:
    plan, start = planned.plan, planned.start
    progress = Progress(
        frozenset(plan.graph.chain_of(uid).index for uid in plan.sources),
        tuple((chain.index, uid) for chain in plan.graph.chains for uid in chain.operators),
    )
    runner = EffectRunner(plan, storage, start.log, may_leave_behind=leaves_behind(options.start))
    slots = SlotControl(replace=pool.replace, release=pool.release)
    listeners: list[Listener] = [progress]
    if link is not None:
        listeners.append(link.reporter(codec.to_json(plan.graph), len(tuple(plan.graph.subtasks()))))
    return Coordinator(planned.job_master(), server, runner, listeners, slots), progress


def run_job(job: JobLike, options: RunOptions, *, session: LazySession | None = None) -> JobResult:
    """``launch`` and ``wait``."""
    result = launch(job, options, session=session).wait()
    assert result is not None
    return result
