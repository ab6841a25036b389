"""Running a job on Spark: graph, session, coordinator and slots put together, and taken apart again."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Protocol
from urllib.parse import unquote, urlsplit

import structlog
from pyspark.sql import SparkSession

from weir.connectors.base import Committer, Source
from weir.connectors.registry import sink_from, source_from
from weir.connectors.spark_query import SparkQuerySource
from weir.coordinator.driver import Coordinator, SlotControl
from weir.coordinator.plan import JobPlan
from weir.coordinator.progress import Progress, Snapshot
from weir.coordinator.runner import EffectRunner
from weir.coordinator.start import Fresh, Resume, StartMode, StartPoint, find_start, restore_point
from weir.errors import ConfigError, JobFailed, SlotError
from weir.graph.compatibility import check_restorable
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CheckpointConfig
from weir.kernel.effects import Outcome
from weir.kernel.job import JobConfig, JobMaster
from weir.kernel.restarts import RestartConfig
from weir.operators.bundle import CodeBundle
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap
from weir.protocol.ids import CheckpointId, OperatorUid
from weir.spark.code import pack_code
from weir.spark.planner import LazySession
from weir.spark.session import driver_address
from weir.spark.slots import SlotPool
from weir.storage.base import CheckpointStorage
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage
from weir.storage.probe import probe
from weir.subtask.logs import LogSettings
from weir.subtask.process_settings import ProcessSettings
from weir.transport.control import ControlServer
from weir.transport.handshake import Credentials

log = structlog.get_logger(__name__)


UNSEEN_IDS_MAX = 100
"""Checkpoints that an earlier process may have triggered after its last entry in the log, at most: their ids are left out, so
that no id is ever used twice."""


class JobLike(Protocol):
    """What ``weir.Job`` offers; this layer is above it."""

    @property
    def name(self) -> str: ...
    def to_graph(self) -> tuple[LogicalGraph, CodeBundle]: ...
    def sources(self) -> Mapping[OperatorUid, Source]: ...


@dataclass(frozen=True, slots=True)
class RunOptions:
    """``interval_ms`` None: no checkpoints but the final one. ``spares``: slots beyond the parallelism, kept warm.

    ``by_value``: modules whose functions are shipped whole (the job's own file), as executors do not have them.
    """

    checkpoint_dir: str
    parallelism: int = 2
    master: str = "local"
    interval_ms: int | None = 10_000
    checkpoint_timeout_ms: int = 600_000
    min_pause_ms: int = 0
    start: StartMode = field(default_factory=Fresh)
    spares: int = 0
    retained: int = 3
    batch_rows: int = 65_536
    restarts: RestartConfig = field(default_factory=RestartConfig)
    heartbeat_timeout_ms: int = 5_000
    slots_timeout_ms: int = 60_000
    allow_non_restored_state: bool = False
    data_ports: tuple[int, int] = (0, 0)
    control_ports: tuple[int, int] = (0, 0)
    storage_options: Mapping[str, str] = field(default_factory=dict)
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    staging_dir: str | None = None
    """Where rows of Spark queries are staged; None: beside the checkpoints, which then must be in a directory."""
    by_value: Iterable[ModuleType] = ()
    logs: LogSettings = field(default_factory=LogSettings)
    """Of the slots. How this process logs is its own business."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """``results``: of sinks that hand something to the caller (collect, stats), by uid."""

    outcome: Outcome
    reason: str
    kind: str
    progress: Snapshot
    results: Mapping[OperatorUid, object]
    notes: tuple[str, ...] = ()

    def raise_if_failed(self) -> JobResult:
        if self.outcome in (Outcome.FAILED, Outcome.SUPERSEDED):
            raise JobFailed(f"{self.kind}: {self.reason}" if self.kind else self.reason)
        return self


class RunningJob:
    """A started job. ``wait`` for its end, in one thread; everything else from any."""

    def __init__(
        self,
        coordinator: Coordinator,
        progress: Progress,
        committers: Mapping[OperatorUid, Committer],
        close: Callable[[], None],
        notes: tuple[str, ...],
    ) -> None:
        self._coordinator = coordinator
        self._progress = progress
        self._committers = committers
        self._close = close
        self._notes = notes
        self._result: JobResult | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="weir-coordinator", daemon=True)
        self._thread.start()

    def progress(self) -> Snapshot:
        return self._progress.snapshot()

    def suspend(self) -> None:
        """Take a last checkpoint, commit it and stop."""
        self._coordinator.suspend()

    def cancel(self) -> None:
        self._coordinator.cancel()

    def savepoint(self) -> None:
        self._coordinator.savepoint()

    def wait(self, timeout_s: float | None = None) -> JobResult | None:
        """None: still running after ``timeout_s``."""
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            return None
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def _run(self) -> None:
        try:
            try:
                finish = self._coordinator.run()
            finally:
                self._close()
            results = {}
            if finish.outcome in (Outcome.FINISHED, Outcome.SUSPENDED):
                results = {uid: committer.result() for uid, committer in self._committers.items()}
            self._result = JobResult(finish.outcome, finish.reason, finish.kind, self.progress(), results, self._notes)
        except BaseException as error:  # noqa: BLE001  # handed to whoever waits
            self._error = error


def session_for(options: RunOptions, job: str) -> LazySession:
    """One that fits ``options``: to build jobs with Spark queries in (``planning``), then to ``launch`` with."""
    slots = options.parallelism + options.spares
    return LazySession(options.master, slots, app_name=f"weir {job}", conf=options.spark_conf)


def launch(job: JobLike, options: RunOptions, *, session: LazySession | None = None) -> RunningJob:
    """Check everything that can be checked before anything runs, then start. ``session``: left open afterwards; None:
    one of its own.

    Raises GraphError, ConfigError, CheckpointError, RestoreError, SlotError: nothing has been changed then.
    """
    job.to_graph()
    storage = open_storage(options.checkpoint_dir, dict(options.storage_options))
    probe(storage)
    find_start(storage, job.name, options.start)
    own = session or session_for(options, job.name)
    try:
        with own.planning():
            _stage_queries(job, storage, options)
        return _launch(job, storage, options, own, close_session=session is None)
    except BaseException:
        if session is None:
            own.close()
        raise


def _stage_queries(job: JobLike, storage: CheckpointStorage, options: RunOptions) -> None:
    for uid, source in job.sources().items():
        if not isinstance(source, SparkQuerySource):
            continue
        root = options.staging_dir or (unquote(urlsplit(storage.url).path) if storage.url.startswith("file://") else None)
        if root is None:
            raise ConfigError(
                f"source '{uid}' is a Spark query, whose rows are staged where all slots can read them: checkpoints are in "
                f"{storage.url}, so name a directory that all slots share with --staging-dir (staging_dir=)"
            )
        source.stage(os.path.join(root, JobLayout(job.name).staged_splits(uid)))


def _launch(
    job: JobLike, storage: CheckpointStorage, options: RunOptions, session: LazySession, *, close_session: bool
) -> RunningJob:
    # What does not fit is refused before Spark is started.
    plan = _plan(job, storage, options).plan
    code = pack_code(job.to_graph()[1].entries, by_value=options.by_value)
    return _start(
        plan,
        # Spark takes seconds to come up. Meanwhile a process that is not quite dead may have gone on with the job.
        lambda: _plan(job, storage, options),
        storage=storage,
        code=code,
        spark=session.get(),
        end_session=session.close if close_session else lambda: None,
        options=options,
    )


@dataclass(frozen=True, slots=True)
class _Planned:
    """``notes``: about the restore, for people."""

    plan: JobPlan
    start: StartPoint
    notes: tuple[str, ...]


def _plan(job: JobLike, storage: CheckpointStorage, options: RunOptions) -> _Planned:
    logical, _ = job.to_graph()
    start = find_start(storage, job.name, options.start)
    graph, notes = _compile(logical, start, options)
    plan = JobPlan(
        graph=graph,
        sources={one.uid: source_from(one.config) for one in logical.operators if one.kind is OperatorKind.SOURCE},
        committers={one.uid: sink_from(one.config).committer() for one in logical.operators if one.kind is OperatorKind.SINK},
        config=_job_config(options),
        retained=options.retained,
    )
    return _Planned(plan, start, notes)


def _compile(logical: LogicalGraph, start: StartPoint, options: RunOptions) -> tuple[PhysicalGraph, tuple[str, ...]]:
    if start.manifest is None:
        return compile_graph(logical, slots=options.parallelism), ()
    old = codec.from_json(PhysicalGraph, start.manifest.graph)
    graph = compile_graph(logical, slots=options.parallelism, fixed_max_parallelism=old.max_parallelism)
    fit = check_restorable(
        graph,
        checkpointed=old.logical,
        max_parallelism=old.max_parallelism,
        allow_non_restored_state=options.allow_non_restored_state,
    )
    return graph, fit.notes


def _job_config(options: RunOptions) -> JobConfig:
    return JobConfig(
        checkpoints=CheckpointConfig(
            interval_ms=options.interval_ms,
            timeout_ms=options.checkpoint_timeout_ms,
            min_pause_ms=options.min_pause_ms,
        ),
        restarts=options.restarts,
        heartbeat_timeout_ms=options.heartbeat_timeout_ms,
        lease_ms=2 * options.heartbeat_timeout_ms,
        slots_timeout_ms=options.slots_timeout_ms,
    )


def _start(
    plan: JobPlan,
    plan_again: Callable[[], _Planned],
    *,
    storage: CheckpointStorage,
    code: Mapping[str, bytes],
    spark: SparkSession,
    end_session: Callable[[], None],
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
    process_settings = ProcessSettings(
        run=run,
        storage_url=storage.url,
        storage_options=dict(options.storage_options),
        batch_rows=options.batch_rows,
        logs=options.logs,
    )
    settings = codec.to_json(process_settings)
    assert isinstance(settings, dict)
    bootstrap = SlotBootstrap(
        job=plan.job,
        host=address.advertise,
        port=server.port,
        secret=secret,
        code=code,
        data_ports=options.data_ports,
        lease_ms=plan.config.lease_ms,
        settings=settings,
    )
    coordinator_ready = threading.Event()

    def on_failure(error: SlotError) -> None:
        coordinator_ready.wait()
        coordinator.fail(str(error), type(error).__name__)

    pool = SlotPool(spark, plan.graph.slots, bootstrap, spares=options.spares, on_failure=on_failure)
    try:
        pool.start()
        planned = plan_again()
        coordinator, progress = _coordinator(planned, storage, options, server, pool)
    except BaseException:
        pool.close(grace_s=0.0)
        server.close()
        raise
    coordinator_ready.set()

    def close() -> None:
        pool.close(grace_s=3.0)
        server.close()
        end_session()

    return RunningJob(coordinator, progress, planned.plan.committers, close, planned.notes)


def _coordinator(
    planned: _Planned, storage: CheckpointStorage, options: RunOptions, server: ControlServer, pool: SlotPool
) -> tuple[Coordinator, Progress]:
    plan, start = planned.plan, planned.start
    progress = Progress(frozenset(plan.graph.chain_of(uid).index for uid in plan.sources))
    master = JobMaster(
        plan.graph,
        plan.config,
        sources=plan.sources,
        generation=start.view.next_generation,
        next_checkpoint=CheckpointId(start.view.next_checkpoint + (UNSEEN_IDS_MAX if start.view.generation else 0)),
        restore=restore_point(start.manifest) if start.manifest is not None else None,
    )
    runner = EffectRunner(plan, storage, start.log, from_newest=isinstance(options.start, Resume))
    slots = SlotControl(replace=pool.replace, release=pool.release)
    return Coordinator(master, server, runner, progress, slots), progress


def run_job(job: JobLike, options: RunOptions, *, session: LazySession | None = None) -> JobResult:
    """``launch`` and ``wait``."""
    result = launch(job, options, session=session).wait()
    assert result is not None
    return result
