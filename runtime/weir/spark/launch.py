"""Launch of a job on Spark. The launch connects graph, session, coordinator and slots. When the job has ended, the launch
closes the slots, the connections and the session.

At the end of a run, ``_clean_up`` removes temporary objects of this run and of earlier runs. If the clean-up fails, the next
run removes the remaining objects.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import structlog

from weir.connectors.spark.query_source import SparkQuerySource
from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.effect_runner import EffectRunner
from weir.coordinator.loop import Coordinator, Listener, SlotControl
from weir.coordinator.progress import JobProgress, ProgressSnapshot
from weir.coordinator.sinks import former_committers
from weir.coordinator.start import (
    FirstNumbers,
    abandonable_checkpoints,
    check_published_output,
    find_start,
    skip_known_checkpoints,
    verify_rollback,
)
from weir.errors import ConfigError, StorageError
from weir.link.control_link import RunLink
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap
from weir.protocol.log_view import LogView
from weir.protocol.manifest import Manifest
from weir.protocol.snapshots import JsonValue
from weir.secrets import set_platform_secrets
from weir.spark.job_plan import JobLike, PlannedRun, plan_job
from weir.spark.options import RunOptions
from weir.spark.pickling import pack_code
from weir.spark.running_job import JobResult, RunningJob, command_action
from weir.spark.session import LazySession, driver_address
from weir.spark.slot_pool import SlotLoss, SlotPool
from weir.spark.staging import StagingDirectories
from weir.storage.base import CheckpointStorage
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir.storage.memory import MemoryStorage
from weir.storage.probe import SharedStorageMarker, probe_storage
from weir.subtask.settings import SAMPLE_MS, ProcessSettings
from weir.transport import sockets
from weir.transport.control import ControlServer
from weir.transport.handshake import JobCredentials

__all__ = ["JobLike", "JobResult", "RunOptions", "RunningJob", "launch", "run_job", "session_for"]

log = structlog.get_logger(__name__)


def session_for(options: RunOptions, job: str) -> LazySession:
    """Return a session for ``options``. Use ``planning`` of the session to build jobs with Spark queries, and pass the session
    to ``launch``."""
    slots = options.parallelism + options.spares
    conf = dict(options.spark_conf)
    if options.platform_secrets:
        # Spark sends the bootstrap to the slots, and writes a large bootstrap to local disks.
        conf["spark.io.encryption.enabled"] = "true"
    return LazySession(options.master, slots, app_name=f"weir {job}", conf=conf)


def launch(
    job: JobLike,
    options: RunOptions,
    *,
    session: LazySession | None = None,
    close_session: bool = False,
    link: RunLink | None = None,
    listeners: Sequence[Listener] = (),
) -> RunningJob:
    """Check the job, its options and the storage, then start the job.

    If ``session`` is None, the job gets a separate session. ``session`` stays open afterwards. If ``close_session`` is True,
    ``session`` is closed when the job has ended, or when ``launch`` raises an error. ``link`` is the control link of the run. The
    link is closed when the job has ended. If ``launch`` raises an error, the caller must close the link. ``listeners`` observe the
    job. Raise GraphError, ConfigError, CheckpointError, RestoreError or SlotError. If ``launch`` raises one of these errors, the
    job and its checkpoints are unchanged.
    """
    job.to_graph()
    set_platform_secrets(options.platform_secrets)
    storage = open_storage(options.checkpoint_dir, dict(options.storage_options))
    if isinstance(storage, MemoryStorage):
        raise ConfigError(
            f"Cannot write checkpoints to {storage.url}: slots do not share memory. Use a directory that all slots share, or "
            "an object store (s3://bucket/prefix)."
        )
    probe_storage(storage)
    restored = find_start(storage, job.name, options.start).manifest
    if session is None:
        session, close_session = session_for(options, job.name), True
    try:
        with session.planning():
            _stage_queries(job, _staging_directories(job.name, storage, options), restored)
        return _launch(job, storage, options, session, link, listeners, close_session=close_session)
    except BaseException:
        if close_session:
            session.close()
        raise


def _staging_directories(job: str, storage: CheckpointStorage, options: RunOptions) -> StagingDirectories:
    return StagingDirectories(storage, job, options.staging_dir)


def _stage_queries(job: JobLike, staging: StagingDirectories, restored: Manifest | None) -> None:
    for uid, source in job.sources().items():
        if isinstance(source, SparkQuerySource):
            source.stage(staging.directory(uid, restored))


def _launch(
    job: JobLike,
    storage: CheckpointStorage,
    options: RunOptions,
    session: LazySession,
    link: RunLink | None,
    listeners: Sequence[Listener],
    *,
    close_session: bool,
) -> RunningJob:
    # Detect invalid jobs and damaged checkpoints before Spark is started.
    planned = plan_job(job, storage, options)
    plan, restored = planned.plan, planned.start.manifest
    verify_rollback(storage, job.name, options.start)
    committers = {**plan.committers, **(former_committers(restored, plan.committers) if restored is not None else {})}
    first = check_published_output(storage, job.name, committers, revoke_unknown=options.revoke_unknown_output)
    first = skip_known_checkpoints(first, options.start)
    code = pack_code(job.to_graph()[1].entries, by_value=options.by_value)
    # Each slot has a connection for messages and a connection for heartbeats.
    sockets.reserve_descriptors(2 * (plan.graph.slots + options.spares), process="The driver")
    return _start(
        plan,
        # Plan again, because an earlier run that was considered dead may have continued the job while Spark was starting.
        lambda: plan_job(job, storage, options),
        first,
        storage=storage,
        code=code,
        session=session,
        end_session=session.close if close_session else lambda: None,
        link=link,
        listeners=listeners,
        options=options,
    )


def _start(
    plan: CompiledJob,
    plan_again: Callable[[], PlannedRun],
    first: FirstNumbers,
    *,
    storage: CheckpointStorage,
    code: Mapping[str, bytes],
    session: LazySession,
    end_session: Callable[[], None],
    link: RunLink | None,
    listeners: Sequence[Listener],
    options: RunOptions,
) -> RunningJob:
    """Start slots and coordinator.

    ``plan`` determines the slots to start. ``plan_again`` returns the plan for the newest state of the job log.
    """
    run = secrets.randbits(63)
    secret = secrets.token_bytes(32)
    spark = session.get()
    address = driver_address(spark)
    server = ControlServer(
        JobCredentials(secret, plan.job),
        host=address.bind,
        ports=options.control_ports,
        generation=run,
        incarnation=f"coordinator-{run:x}"[:60],
        log_connection=lambda text: log.debug("control connection", detail=text),
    )
    bootstrap = SlotBootstrap(
        job=plan.job,
        host=address.advertise,
        port=server.port,
        secret=secret,
        code=code,
        platform_secrets=options.platform_secrets,
        data_ports=options.data_ports,
        lease_ms=plan.config.lease_ms,
        settings=_process_settings(run, storage, options),
    )
    loss_callbacks: list[Callable[[str], None]] = []
    """The callbacks for each slot loss. The list is empty until the coordinator has been created."""

    def on_loss(loss: SlotLoss) -> None:
        _log_loss(loss)
        for callback in tuple(loss_callbacks):
            callback(loss.reason)

    pool = SlotPool(
        spark,
        plan.graph.slots,
        bootstrap,
        spares=options.spares,
        on_loss=on_loss,
        context=session.context,
        occupied=session.occupied,
    )
    marker = SharedStorageMarker(storage, plan.job, run)
    try:
        marker.write()
        earlier_markers = marker.other_markers()
        pool.start()
        planned = plan_again()
        coordinator, progress = _coordinator(planned, first, storage, options, server, pool, link, listeners)
    except BaseException:
        pool.close(grace_s=0.0)
        server.close()
        with contextlib.suppress(StorageError):
            marker.delete()
        raise
    loss_callbacks.append(coordinator.slot_ended_early)
    pool.report_failures(lambda error: coordinator.fail(str(error), type(error).__name__))
    if link is not None:
        link.start(partial(command_action, coordinator), coordinator.superseded)

    def close() -> None:
        try:
            pool.close(grace_s=3.0)
            server.close()
            _clean_up(_staging_directories(plan.job, storage, options), marker, earlier_markers, progress.snapshot())
        finally:
            if link is not None:
                link.close()
            end_session()

    return RunningJob(coordinator, progress, planned.plan.committers, close, (*planned.notes, *first.notes))


def _log_loss(loss: SlotLoss) -> None:
    """Log a lost slot with Spark's reason. Only Spark reports that a container was killed because it used too much memory."""
    log.warning("slot ended early, restarting it", slot=loss.index, how=str(loss.ending), reason=loss.reason)


def _process_settings(run: int, storage: CheckpointStorage, options: RunOptions) -> Mapping[str, JsonValue]:
    settings = codec.to_json(
        ProcessSettings(
            run=run,
            storage_url=storage.url,
            storage_options=dict(options.storage_options),
            batch_rows=options.batch_rows,
            network_bytes=options.network_bytes,
            buffer_timeout_ms=options.buffer_timeout_ms,
            timeouts=options.timeouts,
            step_sample_ms=_sample_ms(options.timeouts.stuck_timeout_ms),
            call_sample_ms=_sample_ms(options.timeouts.call_timeout_ms),
            logs=options.logs,
        )
    )
    assert isinstance(settings, dict)
    return settings


def _sample_ms(timeout_ms: int | None) -> int:
    """Return the time after which a slot samples its stacks during a step or a blocking call. The coordinator reports a step or
    call as slow after half of ``timeout_ms``. The returned time is less than half of ``timeout_ms``, so that the sample normally
    arrives before the coordinator's report."""
    return SAMPLE_MS if timeout_ms is None else min(SAMPLE_MS, timeout_ms * 2 // 5)


def _coordinator(
    planned: PlannedRun,
    first: FirstNumbers,
    storage: CheckpointStorage,
    options: RunOptions,
    server: ControlServer,
    pool: SlotPool,
    link: RunLink | None,
    more_listeners: Sequence[Listener],
) -> tuple[Coordinator, JobProgress]:
    plan, start = planned.plan, planned.start
    progress = JobProgress(
        frozenset(plan.graph.chain_of(uid).index for uid in plan.sources),
        tuple((chain.index, uid) for chain in plan.graph.chains for uid in chain.operators),
    )
    runner = EffectRunner(plan, storage, start.log, abandonable=abandonable_checkpoints(options.start))
    slots = SlotControl(replace=pool.replace, release=pool.release)
    listeners: list[Listener] = [progress, *more_listeners]
    if link is not None:
        listeners.append(link.reporter(codec.to_json(plan.graph), len(tuple(plan.graph.subtasks()))))
    return Coordinator(planned.job_master(first), server, runner, listeners, slots), progress


def run_job(job: JobLike, options: RunOptions, *, session: LazySession | None = None) -> JobResult:
    """Launch a job and wait until it ends."""
    result = launch(job, options, session=session).wait()
    assert result is not None
    return result


def _clean_up(
    staging: StagingDirectories, marker: SharedStorageMarker, earlier_markers: Collection[str], progress: ProgressSnapshot
) -> None:
    """Remove temporary objects of this run and of earlier runs. Call ``_clean_up`` when no slot of this run can start any more.

    ``earlier_markers`` are the markers that existed before this run.
    """
    try:
        view, _ = JobLog(staging.storage, JobLayout(staging.job)).read()
        newest = runs_newest_generation(view, progress)
        marker.delete(earlier_markers if newest else ())
        if newest:
            staging.remove_unused(view)
    except Exception as error:  # noqa: BLE001  # a failed clean-up does not change the outcome of the job
        log.warning("clean-up failed", reason=f"{type(error).__name__}: {error}")


def runs_newest_generation(view: LogView, progress: ProgressSnapshot) -> bool:
    """Return whether this run has the newest generation.

    Two runs can request the same generation, but checkpoint ids are unique. So return True only if this run has completed the
    newest checkpoint in the log, and this checkpoint is from the newest generation.
    """
    record = view.newest
    if record is None or not progress.completed:
        return False
    return record.generation == view.generation and record.checkpoint == progress.completed[-1].checkpoint
