"""``weir.run``: start a job in the Spark session of a notebook or a script, and control the job through a ``JobRun``."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import structlog
from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkConf, SparkContext
from pyspark.sql import SparkSession

from weir.api.job import Job
from weir.api.job_loader import build_job
from weir.coordinator.progress import CheckpointSummary, ProgressSnapshot, RateMeter
from weir.coordinator.start import Fresh, FromCheckpoint, Resume, StartMode
from weir.errors import CheckpointError, ConfigError, JobFailed, Superseded, WeirError
from weir.graph.schema import near_miss
from weir.kernel.checkpoints import CheckpointKind
from weir.kernel.effects import Finish, JobOutcome, Report, ReportKind
from weir.kernel.job import JobPhase
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.messages import FromSlot
from weir.spark import jvm, notebook
from weir.spark.existing_session import ExistingSession
from weir.spark.launch import launch, session_for
from weir.spark.options import RunOptions
from weir.spark.running_job import JobResult, RunningJob
from weir.spark.session import LazySession, is_own_session
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir.subtask.settings import configure_driver_logs

RECENT_MAX = 100
"""Maximum length of ``JobRun.recent_progress``."""
STOP_S = 600.0
"""Default maximum time that ``stop``, ``savepoint`` and ``checkpoint`` wait, in seconds."""
SHUTDOWN_S = 300
"""Maximum time in which the JVM of spark-submit waits for the final checkpoint after SIGTERM, in seconds."""
_REFRESH_S = 0.5
_HOOK_PRIORITY = 100
"""Hadoop runs shutdown hooks with a higher priority first. Spark stops its context in a hook with priority 40."""


def run(
    job: Job | Callable[..., Job],
    *,
    checkpoint_dir: str | os.PathLike[str],
    spark: SparkSession | None = None,
    params: Mapping[str, object] | None = None,
    resume: bool = False,
    from_checkpoint: int | None = None,
    abandon_newer: bool = False,
    parallelism: int = 2,
    interval_s: float | None = 10.0,
    trusted_network: bool = False,
    **options: Any,
) -> JobRun:
    """Start a job and return when its slots are starting. The returned ``JobRun`` observes and stops the job.

    ``job`` is a Job, or a job function, which is called with ``params``. A job with a Spark query as a source must be given as a
    function, because Weir needs the session to build such a job.

    The job runs in ``spark``, or in the active session of this process. This session stays open when the job has ended. If the
    process has no session, Weir creates one, and closes it when the job has ended.

    A job starts by the rules of ``weir run``:

    - By default, the job starts without state. If the job already exists in ``checkpoint_dir``, the start is refused.
    - ``resume=True`` continues from the newest checkpoint, or starts without state if there is no checkpoint.
    - ``from_checkpoint=ID`` rolls back to this checkpoint (0: no state). If this abandons newer checkpoints and revokes their
      output, ``abandon_newer=True`` must confirm it.

    ``parallelism`` is the number of slots. Each slot occupies one core of the session while the job runs. ``interval_s`` is the
    time between checkpoints in seconds. With None, the final checkpoint is the only checkpoint. ``trusted_network=True`` confirms
    that only trusted hosts can reach the ports of a cluster without authentication. ``options`` are other fields of
    ``RunOptions``, such as ``spares=1`` or ``by_value=[my_module]``.

    Raise ConfigError, GraphError, InputError, CheckpointError, RestoreError, StorageError or SlotError if the job cannot start.
    """
    run_options = _run_options(
        options,
        checkpoint_dir=os.fspath(checkpoint_dir),
        parallelism=parallelism,
        interval_ms=None if interval_s is None else _milliseconds(interval_s),
    )
    if not structlog.is_configured():
        configure_driver_logs()
    session = _session(spark, job.name if isinstance(job, Job) else getattr(job, "__name__", "job"), run_options, options)
    try:
        built = _build(job, params, session)
        run_options = dataclasses.replace(
            run_options,
            start=_start_mode(
                built.name, run_options, resume=resume, from_checkpoint=from_checkpoint, abandon_newer=abandon_newer
            ),
        )
        storage_url = open_storage(run_options.checkpoint_dir, dict(run_options.storage_options)).url
        if isinstance(session, ExistingSession):
            session.check(trusted_network=trusted_network)
            session.occupy(built.name, storage_url)
        observer = _Observer()
        running = launch(built, run_options, session=session, close_session=True, listeners=(observer,))
    except BaseException:
        session.close()
        raise
    notes = (*running.notes, *(session.notes if isinstance(session, ExistingSession) else ()))
    started = JobRun(built.name, storage_url, running, observer, notes)
    if jvm.belongs_to_spark_submit():
        _stop_before_jvm(started)
    for note in notes:
        structlog.get_logger(__name__).info(note)
    return started


def _milliseconds(interval_s: float) -> int:
    if not isinstance(interval_s, int | float):
        raise ConfigError(f"interval_s={interval_s!r} is not a number of seconds. Use a number, for example 10, or None.")
    return round(interval_s * 1_000)


def _run_options(options: Mapping[str, Any], **arguments: Any) -> RunOptions:
    known = {field.name for field in dataclasses.fields(RunOptions)} - {"start", *arguments}
    for name in options:
        if name not in known:
            raise ConfigError(f"weir.run has no option {name!r}{near_miss(name, sorted(known))}")
    parallelism, interval_ms = arguments["parallelism"], arguments["interval_ms"]
    if not isinstance(parallelism, int) or parallelism < 1:
        raise ConfigError(f"parallelism={parallelism!r} is not a number of slots. Use a whole number from 1.")
    if interval_ms is not None and interval_ms < 1:
        raise ConfigError(
            f"interval_s={interval_ms / 1_000:g} is not a time between checkpoints. Use a positive number of seconds, or None."
        )
    return RunOptions(**arguments, **options)


def _session(spark: SparkSession | None, name: str, run_options: RunOptions, options: Collection[str]) -> LazySession:
    if spark is None and (active := SparkContext._active_spark_context) is not None:
        if is_own_session(active):
            raise ConfigError(
                "The session of this process was created by Weir for another job, and is closed when that job has ended. Create a "
                "session yourself and pass it as spark= to run several jobs in it."
            )
        spark = SparkSession.active()
    if spark is None:
        return session_for(_with_submitted_settings(run_options), name)
    for option in ("master", "spark_conf"):
        if option in options:
            raise ConfigError(
                f"{option}= cannot change a session that is already running. Leave it out, or stop the session, so that Weir creates one."
            )
    return ExistingSession(spark, slots=run_options.parallelism, spares=run_options.spares)


def _with_submitted_settings(options: RunOptions) -> RunOptions:
    """Return ``options`` with the master and the settings that were given to spark-submit, if spark-submit started this process."""
    if not jvm.belongs_to_spark_submit():
        return options
    SparkContext._ensure_initialized()
    submitted = dict(SparkConf().getAll())
    return dataclasses.replace(
        options,
        master=submitted.get("spark.master", options.master),
        spark_conf={name: value for name, value in submitted.items() if name != "spark.master"} | dict(options.spark_conf),
    )


def _build(job: Job | Callable[..., Job], params: Mapping[str, object] | None, session: LazySession) -> Job:
    if isinstance(job, Job):
        if params is not None:
            raise ConfigError(
                "params= needs a job function, but this is a Job, whose parameters are already set. Pass the function."
            )
        return job
    if not callable(job):
        raise ConfigError(f"weir.run needs a Job or a function that returns a Job, not {type(job).__name__}.")
    with session.planning():
        return build_job(job, params)


def _start_mode(
    job: str, options: RunOptions, *, resume: bool, from_checkpoint: int | None, abandon_newer: bool
) -> StartMode:  # fmt: skip
    if from_checkpoint is None:
        return Resume() if resume else Fresh()
    if resume:
        raise ConfigError(
            "resume=True cannot be combined with from_checkpoint=: resume=True restores the newest checkpoint, and "
            "from_checkpoint= restores an older checkpoint."
        )
    view, _ = JobLog(open_storage(options.checkpoint_dir, dict(options.storage_options)), JobLayout(job)).read()
    target = CheckpointId(from_checkpoint) if from_checkpoint else None
    abandoned = frozenset(view.abandoned_by(view.restore_point(target).checkpoint if target is not None else None))
    if abandoned and not abandon_newer:
        raise ConfigError(
            f"Rolling back job '{job}' to checkpoint {from_checkpoint} abandons the checkpoints "
            f"{', '.join(str(number) for number in sorted(abandoned))} and revokes their output. Pass abandon_newer=True to confirm."
        )
    return FromCheckpoint(target, abandonable=abandoned)


def _stop_before_jvm(run: JobRun) -> None:
    """When the JVM of spark-submit gets SIGTERM, stop the job with a final checkpoint before Spark ends.

    spark-submit is the driver's JVM, and the parent of this process. Without a hook, SIGTERM to spark-submit would end Spark at once.
    The hook in the JVM waits until this process closes a pipe. The system also closes the pipe if this process dies, so the hook
    never waits for a dead process. A callback from Java would need a port without authentication.
    """
    java: Any = SparkContext._jvm
    directory = tempfile.mkdtemp(prefix="weir-shutdown-")
    try:
        path = os.path.join(directory, "pipe")
        os.mkfifo(path, 0o600)
        pipe = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        end_of_pipe = java.java.io.FileInputStream(path)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    # A RedirectThread reads its input until the end.
    hook = java.org.apache.spark.util.RedirectThread(
        end_of_pipe, java.java.io.OutputStream.nullOutputStream(), "weir-shutdown", False
    )
    hooks = java.org.apache.hadoop.util.ShutdownHookManager.get()
    hooks.addShutdownHook(hook, _HOOK_PRIORITY, SHUTDOWN_S, java.java.util.concurrent.TimeUnit.SECONDS)

    def watch() -> None:
        try:
            with suppress(Py4JError):
                while run.is_active and not hooks.isShutdownInProgress():
                    run.join(_REFRESH_S)
                if run.is_active:
                    run.end_with_process()
                elif not hooks.isShutdownInProgress():
                    hooks.removeShutdownHook(hook)
        finally:
            os.close(pipe)

    InheritableThread(target=watch, name="weir-shutdown", daemon=True).start()


class JobRun:
    """A job that ``weir.run`` has started. A JobRun resembles PySpark's StreamingQuery. Any thread may use a JobRun.

    ``id`` identifies the job in its checkpoint directory, and is the same for all runs that resume the job. ``run_id``
    identifies this run. ``notes`` are sentences about the restore and the session.
    """

    def __init__(self, name: str, storage_url: str, running: RunningJob, observer: _Observer, notes: tuple[str, ...]) -> None:
        self.name = name
        self.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{storage_url}/{JobLayout(name).root}"))
        self.run_id = str(uuid.uuid4())
        self.notes = notes
        self._running = running
        self._observer = observer
        self._meter = RateMeter()
        observer.snapshot = running.progress

    @property
    def is_active(self) -> bool:
        """Whether the job has not ended."""
        return self._running.is_alive

    @property
    def status(self) -> dict[str, Any]:
        """``message`` (one line), ``phase``, ``is_active``, ``generation``, and ``records``: the number of records that the sources
        have read, including those up to the restored checkpoint."""
        snapshot = self._running.progress()
        ended = self._ended()
        return {
            "message": self._meter.line(snapshot) if ended is None else ended,
            "phase": str(snapshot.phase),
            "is_active": self.is_active,
            "generation": int(snapshot.generation),
            "records": snapshot.records,
        }

    @property
    def recent_progress(self) -> list[dict[str, Any]]:
        """The progress at each completed checkpoint of this run. Contains the newest RECENT_MAX checkpoints.

        Keys: ``timestamp`` (ISO 8601, UTC), ``checkpoint``, ``kind``, ``duration_ms``, ``state_bytes``, ``written_bytes``,
        ``generation``, ``records`` (read by the sources, including those up to the restored checkpoint), ``records_per_s`` (since
        the previous entry), ``backpressured_ratio`` (0 to 1), ``recoveries``.
        """
        return [dict(entry) for entry in tuple(self._observer.recent)]

    @property
    def last_progress(self) -> dict[str, Any] | None:
        """The last entry of ``recent_progress``, or None if no checkpoint has completed."""
        return next(reversed(self.recent_progress), None)

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended, or for ``timeout_s`` seconds. Return whether the job has ended. A notebook shows the
        progress meanwhile.

        If the main thread of a script waits, SIGTERM stops the job with a final checkpoint before it ends the process. Raise
        JobFailed if the job has failed, or Superseded if another process has taken over the job.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._delayed_sigterm(), notebook.live_line() as show:
            while self._running.is_alive:
                left_s = _REFRESH_S if deadline is None else min(_REFRESH_S, deadline - time.monotonic())
                if left_s <= 0:
                    return False
                self._running.join(left_s)
                if show is not None:
                    show(self.status["message"])
        error = self.exception()
        if error is not None:
            raise error
        return True

    def stop(self, *, savepoint: bool = False, timeout_s: float = STOP_S) -> CheckpointId | None:
        """Stop the job with a final checkpoint, and wait until it has ended. ``weir.run(..., resume=True)`` continues the job. Do
        nothing if the job has already ended.

        ``savepoint=True`` takes a savepoint first, and returns its id, or None if the job ends before the savepoint is complete. If
        the savepoint fails, raise CheckpointError; the job then continues to run. Raise JobFailed if the job fails or does not stop
        within ``timeout_s``.
        """
        if not self.is_active:
            return None
        taken = None
        if savepoint:
            try:
                taken = self.savepoint(timeout_s)
            except CheckpointError:
                if not self._observer.finished:
                    raise
        self._running.suspend()
        self._wait_for_end(timeout_s)
        return taken

    def cancel(self, *, timeout_s: float = STOP_S) -> None:
        """Stop the job without a checkpoint, and wait until it has ended. Do nothing if the job has already ended. Raise JobFailed if
        it does not stop within ``timeout_s``."""
        if not self.is_active:
            return
        self._running.cancel()
        self._wait_for_end(timeout_s)

    def savepoint(self, timeout_s: float = STOP_S) -> CheckpointId:
        """Take a savepoint, which Weir never deletes. Wait until it is complete, and return its id.

        Raise CheckpointError if the savepoint fails or takes longer than ``timeout_s``, or if the job ends.
        """
        return self._take(self._running.savepoint, {CheckpointKind.SAVEPOINT}, timeout_s)

    def checkpoint(self, timeout_s: float = STOP_S) -> CheckpointId:
        """Take a checkpoint now. Wait until it is complete, and return its id. Raise the errors of ``savepoint``."""
        return self._take(self._running.checkpoint, {CheckpointKind.SAVEPOINT, CheckpointKind.MANUAL}, timeout_s)

    def exception(self) -> WeirError | None:
        """Return the error that ended the job, or None if the job is running or has not failed."""
        try:
            result = self._running.wait(0.0)
        except WeirError as error:
            return error
        except BaseException as error:  # noqa: BLE001  # a bug that ended the driver's thread
            return JobFailed(f"{type(error).__name__}: {error}")
        if result is None or result.outcome not in (JobOutcome.FAILED, JobOutcome.SUPERSEDED):
            return None
        kind = Superseded if result.outcome is JobOutcome.SUPERSEDED else JobFailed
        return kind(f"{result.kind}: {result.reason}" if result.kind and kind is JobFailed else result.reason)

    def result(self) -> JobResult:
        """Wait until the job has ended, and return its outcome with the values of its sinks (collect, stats)."""
        result = self._running.wait()
        assert result is not None
        return result

    isActive = is_active
    lastProgress = last_progress
    recentProgress = recent_progress
    awaitTermination = await_termination

    def join(self, timeout_s: float) -> None:
        """Wait until the job has ended, at most ``timeout_s`` seconds. Raise no error, and show nothing."""
        self._running.join(timeout_s)

    def end_with_process(self) -> None:
        """Stop the job with a final checkpoint, and wait at most SHUTDOWN_S seconds. Raise no error."""
        self._running.suspend()
        self._running.join(SHUTDOWN_S)

    def __repr__(self) -> str:
        return f"<JobRun {self.name!r}: {' '.join(self.status['message'].split())}>"

    def _repr_html_(self) -> str:
        return notebook.render(self.name, self.status["message"], self.recent_progress)

    def _ipython_display_(self) -> None:
        notebook.display_until(self, lambda: not self.is_active, self.join)

    def _ended(self) -> str | None:
        """Return one line about the end of the job, or None if the job is running."""
        if self.is_active:
            return None
        error = self.exception()
        if error is not None:
            return f"failed: {error}"
        result = self.result()
        last = self.last_progress
        newest = f" after checkpoint {last['checkpoint']}" if last is not None else ""
        return f"{result.outcome}{newest}"

    def _wait_for_end(self, timeout_s: float) -> None:
        self._running.join(timeout_s)
        if self.is_active:
            raise JobFailed(
                f"Job '{self.name}' has not stopped within {timeout_s:g} s: {self.status['message']}. Wait with await_termination(), "
                "or stop it without a checkpoint with cancel()."
            )
        error = self.exception()
        if error is not None:
            raise error

    def _take(self, request: Callable[[], None], kinds: Collection[CheckpointKind], timeout_s: float) -> CheckpointId:
        what = "savepoint" if CheckpointKind.MANUAL not in kinds else "checkpoint"
        taken = self._observer.take(request, kinds, timeout_s) if self.is_active else None
        if isinstance(taken, str):
            raise CheckpointError(f"The {what} of job '{self.name}' failed: {taken}. The job continues. Take another {what}.")
        if taken is None and (self._observer.finished or not self.is_active):
            raise CheckpointError(f"Job '{self.name}' has ended without a {what}. Resume the job to take one.")
        if taken is None:
            raise CheckpointError(
                f"Job '{self.name}' has not completed a {what} within {timeout_s:g} s. JobRun.status shows the phase of the job."
            )
        return taken

    @contextmanager
    def _delayed_sigterm(self) -> Iterator[None]:
        """While the main thread waits, delay SIGTERM until the job has stopped with a final checkpoint. A handler of the user is
        not replaced."""
        main = threading.current_thread() is threading.main_thread()
        if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            yield
            return
        received = threading.Event()

        def on_signal(number: int, frame: object) -> None:
            received.set()
            self._running.suspend()

        signal.signal(signal.SIGTERM, on_signal)
        try:
            yield
        finally:
            if received.is_set():
                self._running.join(None)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if received.is_set():
                os.kill(os.getpid(), signal.SIGTERM)


class _Observer:
    """A listener of the coordinator's loop. It records progress, and the outcomes of requested checkpoints."""

    def __init__(self) -> None:
        self.recent: deque[dict[str, Any]] = deque(maxlen=RECENT_MAX)
        self.snapshot: Callable[[], ProgressSnapshot] | None = None
        self._meter = RateMeter()
        self._changed = threading.Condition()
        self._triggered: deque[tuple[int, CheckpointId, str]] = deque(maxlen=RECENT_MAX)
        """(number of the trigger, checkpoint id, kind)."""
        self._triggers = 0
        self._outcomes: deque[tuple[CheckpointId, str]] = deque(maxlen=RECENT_MAX)
        """(checkpoint id, reason of the failure or an empty string)."""
        self.finished = False
        """Whether the job has ended."""

    def on_phase(self, phase: JobPhase, generation: Generation) -> None: ...

    def on_message(self, message: FromSlot) -> None: ...

    def on_report(self, report: Report) -> None:
        if report.checkpoint is None:
            return
        with self._changed:
            if report.kind is ReportKind.CHECKPOINT_TRIGGERED:
                self._triggers += 1
                self._triggered.append((self._triggers, report.checkpoint, report.text))
            elif report.kind is ReportKind.CHECKPOINT_COMPLETED:
                self._outcomes.append((report.checkpoint, ""))
                self._record()
            elif report.kind is ReportKind.CHECKPOINT_ABORTED:
                self._outcomes.append((report.checkpoint, report.text or "aborted"))
            self._changed.notify_all()

    def on_finish(self, finish: Finish) -> None:
        with self._changed:
            self.finished = True
            self._changed.notify_all()

    def take(self, request: Callable[[], None], kinds: Collection[CheckpointKind], timeout_s: float) -> CheckpointId | str | None:
        """Request a checkpoint and wait for its outcome. Return its id, the reason of its failure, or None if it has no outcome
        after ``timeout_s`` or at the end of the job."""
        with self._changed:
            earlier = self._triggers
        request()
        with self._changed:
            self._changed.wait_for(lambda: self.finished or self._outcome(earlier, kinds) is not None, timeout_s)
            return self._outcome(earlier, kinds)

    def _outcome(self, earlier: int, kinds: Collection[CheckpointKind]) -> CheckpointId | str | None:
        for number, checkpoint, kind in self._triggered:
            if number > earlier and kind in kinds:
                failures = [reason for finished, reason in self._outcomes if finished == checkpoint]
                return None if not failures else failures[-1] or checkpoint
        return None

    def _record(self) -> None:
        if self.snapshot is None:
            return
        snapshot = self.snapshot()
        last: CheckpointSummary = snapshot.completed[-1]
        self.recent.append(
            {
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "checkpoint": int(last.checkpoint),
                "kind": str(last.kind),
                "duration_ms": last.end_to_end_ms,
                "state_bytes": last.state_bytes,
                "written_bytes": last.checkpointed_bytes,
                "generation": int(snapshot.generation),
                "records": snapshot.records,
                "records_per_s": round(self._meter.rate(snapshot)),
                "backpressured_ratio": round(snapshot.backpressured_ratio_max, 3),
                "recoveries": snapshot.recoveries_total,
            }
        )
