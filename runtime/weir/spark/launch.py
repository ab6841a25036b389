"""Running a job on Spark: graph, session, coordinator and slots put together, and taken apart again."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Protocol

import structlog
from pyspark.sql import SparkSession

from weir.connectors.base import Committer
from weir.connectors.registry import sink_from, source_from
from weir.coordinator.driver import Coordinator, SlotControl
from weir.coordinator.plan import JobPlan
from weir.coordinator.progress import Progress, Snapshot
from weir.coordinator.runner import EffectRunner
from weir.coordinator.start import Fresh, StartMode, StartPoint, find_start, restore_point
from weir.errors import JobFailed, SlotError
from weir.graph.compatibility import check_restorable
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CheckpointConfig
from weir.kernel.effects import Finish, Outcome
from weir.kernel.job import JobConfig, JobMaster
from weir.kernel.restarts import RestartConfig
from weir.operators.bundle import CodeBundle
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap
from weir.protocol.ids import OperatorUid
from weir.spark.code import pack_code
from weir.spark.session import close_session, driver_address, open_session
from weir.spark.slots import SlotPool
from weir.storage.open import open_storage
from weir.storage.probe import probe
from weir.subtask.process_settings import ProcessSettings
from weir.transport.control import ControlServer
from weir.transport.handshake import Credentials

log = structlog.get_logger(__name__)


class JobLike(Protocol):
    """What ``weir.Job`` offers; this layer is above it."""

    def to_graph(self) -> tuple[LogicalGraph, CodeBundle]: ...


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
    by_value: Iterable[ModuleType] = ()


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
        close: Callable[[Finish], None],
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
            finish = self._coordinator.run()
            self._close(finish)
            results = {}
            if finish.outcome in (Outcome.FINISHED, Outcome.SUSPENDED):
                results = {uid: committer.result() for uid, committer in self._committers.items()}
            self._result = JobResult(finish.outcome, finish.reason, finish.kind, self.progress(), results, self._notes)
        except BaseException as error:  # noqa: BLE001  # handed to whoever waits
            self._error = error


def launch(job: JobLike, options: RunOptions, *, spark: SparkSession | None = None) -> RunningJob:
    """Check everything that can be checked before anything runs, then start. ``spark``: a session of ``open_session`` to
    run on, left open afterwards; None: one of its own.

    Raises GraphError, ConfigError, CheckpointError, RestoreError, SlotError: nothing has been changed then.
    """
    logical, bundle = job.to_graph()
    storage = open_storage(options.checkpoint_dir, dict(options.storage_options))
    probe(storage)
    start = find_start(storage, logical.job, options.start)
    graph, notes = _compile(logical, start, options)
    plan = JobPlan(
        graph=graph,
        sources={one.uid: source_from(one.config) for one in logical.operators if one.kind is OperatorKind.SOURCE},
        committers={one.uid: sink_from(one.config).committer() for one in logical.operators if one.kind is OperatorKind.SINK},
        config=_job_config(options),
        retained=options.retained,
    )
    code = pack_code(bundle.entries, by_value=options.by_value)
    session = spark or open_session(
        options.master, options.parallelism + options.spares, app_name=f"weir {logical.job}", extra_conf=options.spark_conf
    )
    try:
        return _start(plan, start, storage_url=storage.url, code=code, session=session, own_session=spark is None, options=options,
                      notes=notes)  # fmt: skip
    except BaseException:
        if spark is None:
            close_session(session)
        raise


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
    start: StartPoint,
    *,
    storage_url: str,
    code: Mapping[str, bytes],
    session: SparkSession,
    own_session: bool,
    options: RunOptions,
    notes: tuple[str, ...],
) -> RunningJob:
    run = secrets.randbits(63)
    secret = secrets.token_bytes(32)
    address = driver_address(session)
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
        storage_url=storage_url,
        storage_options=dict(options.storage_options),
        batch_rows=options.batch_rows,
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
    source_chains = frozenset(plan.graph.chain_of(uid).index for uid in plan.sources)
    progress = Progress(source_chains)
    master = JobMaster(
        plan.graph,
        plan.config,
        sources=plan.sources,
        generation=start.view.next_generation,
        next_checkpoint=start.view.next_checkpoint,
        restore=restore_point(start.manifest) if start.manifest is not None else None,
    )
    failed: list[SlotError] = []
    coordinator_ready = threading.Event()

    def on_failure(error: SlotError) -> None:
        failed.append(error)
        coordinator_ready.wait()
        coordinator.fail(str(error), type(error).__name__)

    pool = SlotPool(session, plan.graph.slots, bootstrap, spares=options.spares, on_failure=on_failure)
    storage = open_storage(storage_url, dict(options.storage_options))
    runner = EffectRunner(plan, storage, start.log)
    coordinator = Coordinator(master, server, runner, progress, SlotControl(replace=pool.replace))
    coordinator_ready.set()

    def close(_finish: Finish) -> None:
        pool.close(grace_s=3.0)
        server.close()
        if own_session:
            close_session(session)

    try:
        pool.start()
    except BaseException:
        server.close()
        raise
    return RunningJob(coordinator, progress, plan.committers, close, notes)


def run_job(job: JobLike, options: RunOptions, *, spark: SparkSession | None = None) -> JobResult:
    """``launch`` and ``wait``."""
    result = launch(job, options, spark=spark).wait()
    assert result is not None
    return result
