"""A Spark session that belongs to the user, such as the session of a notebook. Weir runs slots in the session. It does not change
the settings of the session, and does not stop the session."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import weir
from weir.errors import ConfigError, SlotError
from weir.spark.jvm import error_summary
from weir.spark.session import LazySession
from weir.spark.settings import WORKER_ENVIRONMENT, is_local, session_problems
from weir.spark.slot_pool import CAPACITY_S, await_capacity

_SLOT_MODULES = ("numba", "numpy", "obstore", "polars", "pyarrow", "structlog", "xxhash")
"""The modules that a slot imports, besides Weir."""

_lock = threading.Lock()
_running: dict[str, list[ExistingSession]] = {}
"""The jobs that run in existing sessions, by the id of the Spark application. ``_lock`` protects this dict."""


class ExistingSession(LazySession):
    """The session of the user, with the task slots of one job. Call order: check -> occupy -> close."""

    def __init__(self, spark: SparkSession, *, slots: int, spares: int) -> None:
        """The job needs ``slots`` task slots, and uses up to ``spares`` more. Raise ConfigError if ``spark`` is not a
        running classic session."""
        if not isinstance(spark, SparkSession):
            raise ConfigError(
                f"spark= is a {type(spark).__module__}.{type(spark).__qualname__}. Pass a classic SparkSession, because Spark Connect "
                "cannot run slots. SparkSession.builder.master(...) creates a classic session, and remote(...) does not."
            )
        if spark.sparkContext._jsc is None:
            raise ConfigError("The Spark session is stopped. Create a new session, and pass it as spark=.")
        super().__init__(str(spark.sparkContext.master), slots, app_name=str(spark.sparkContext.appName), conf={})
        self._session = spark
        self._context = _slot_context(spark.sparkContext)
        self._application = str(spark.sparkContext.applicationId)
        """Read once, because ``close`` must also work if the JVM is gone."""
        self._job = ("", "")
        self._held = slots + spares
        self._free = 0

    @property
    def context(self) -> SparkContext:
        return self._context

    @property
    def occupied(self) -> int:
        return sum(other._held for other in _running.get(self._application, ()) if other is not self)

    def check(self, *, trusted_network: bool) -> None:
        """Check the settings of the session, its task slots, and the Python of its executors. ``session_problems`` describes ``trusted_network``.

        Raise ConfigError that lists all problems.
        """
        problems = session_problems(dict(self._context.getConf().getAll()), trusted_network=trusted_network)
        if os.environ.get("PYSPARK_PIN_THREAD", "true").lower() != "true":
            problems.append(
                "The environment variable PYSPARK_PIN_THREAD is not true, so all slots would share one job group. Remove it."
            )
        problems += self._executor_problems()
        if problems:
            listed = "\n".join(f"  - {problem}" for problem in problems)
            raise ConfigError(
                f"This Spark session cannot run Weir's slots:\n{listed}\n"
                "Settings of a running session cannot be changed. Stop the session, and create it with the right settings "
                "(SparkSession.builder.config(NAME, VALUE)). Or stop it and call weir.run without spark=, so that Weir creates a "
                "session with the right settings."
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the session, one sentence each. Call after ``check``."""
        if not 0 < self._free <= self._held:
            return ()
        note = (
            f"The job occupies all {self._free} free task slots of the Spark session, so other Spark queries of the session wait until it "
            "stops. To avoid this, give the session more cores or lower the parallelism."
        )
        return (note,)

    def occupy(self, job: str, storage_url: str) -> None:
        """Count the task slots of the job as occupied until ``close``. Raise ConfigError if the same job already runs in the
        session, because the second run would fence the first one."""
        with _lock:
            jobs = _running.setdefault(self._application, [])
            if any(other._job == (job, storage_url) for other in jobs):
                raise ConfigError(
                    f"Job '{job}' with checkpoints in {storage_url} already runs in this session. Stop it first (stop() of its JobRun), "
                    "or use another job name or checkpoint directory."
                )
            self._job = (job, storage_url)
            jobs.append(self)

    def close(self) -> None:
        """Release the task slots. The session stays open. Safe to call twice."""
        with _lock:
            jobs = _running.get(self._application, [])
            if self in jobs:
                jobs.remove(self)
            if not jobs:
                _running.pop(self._application, None)

    def _executor_problems(self) -> list[str]:
        """Wait for the task slots of the job, and run a Spark task in each. Return the problems that the tasks find."""
        try:
            free = await_capacity(
                self.get(), slots=self._slots, spares=0, timeout_s=CAPACITY_S, occupied=self.occupied
            ).task_slots
        except SlotError as error:
            return [str(error)]
        self._free = free
        if not free:
            # No task slot is free: no executor has started yet, or other jobs occupy all task slots. The coordinator reports that it
            # waits for slots.
            return []
        probe = _python_probe(weir.__version__, _SLOT_MODULES)
        try:
            return sorted(set(self._context.parallelize(range(free), free).mapPartitions(probe).collect()))
        except (Py4JError, PySparkException) as error:
            return [f"A test task failed on an executor: {error_summary(error)}."]


def _slot_context(context: SparkContext) -> SparkContext:
    """Return a copy of ``context`` whose slots run in their own Python workers, not in those of user functions. The copy and
    ``context`` share the Spark application.

    Spark assigns a task only to a Python worker with the same environment variables. So a function of the user never runs in the
    process of a former slot, whose thread pools have one thread and whose allocator keeps memory.
    """
    environment = {**WORKER_ENVIRONMENT, **context.environment, "WEIR_SLOT": "1"}
    copy = object.__new__(SparkContext)
    copy.__dict__.update(context.__dict__, environment=environment)
    if is_local(str(context.master)):
        # Local workers can use the interpreter and the modules of this process. Spark's default interpreter is the first python3
        # on PATH, which is not the interpreter of a notebook whose virtual environment is not active.
        copy.pythonExec = os.environ.get("PYSPARK_PYTHON") or sys.executable
        environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return copy


def _python_probe(version: str, modules: Iterable[str]) -> Callable[[Iterable[int]], Iterator[str]]:
    """Return a function that yields the problems of the executor's Python. Spark pickles the function by value, so an executor
    without Weir can run it."""

    def probe(rows: Iterable[int]) -> Iterator[str]:
        import importlib.util
        import socket
        import sys

        for _ in rows:
            pass
        where = f"The Python of the executors ({sys.executable} on {socket.gethostname()})"
        if importlib.util.find_spec("weir") is None:
            yield f"{where} has no module weir. Install weir-streaming[runtime] {version} on all executors, or ship it (--archives)."
            return
        import weir

        if weir.__version__ != version:
            yield f"{where} has Weir {weir.__version__}, but the driver has Weir {version}. Install {version} on all executors."
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        if missing:
            yield f"{where} lacks {', '.join(missing)}. Install weir-streaming[runtime] on all executors."

    return probe
