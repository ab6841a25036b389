"""The Spark session of a job. The session's settings keep slots alive and refuse unauthenticated peers, and ``close_session``
removes everything that the session has created.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from weir.connectors.spark.query_source import Query, use_planner
from weir.connectors.spark.staged_dataframe import StagedDataFrame
from weir.errors import ConfigError, GraphError
from weir.graph.schema import encode_schema
from weir.spark import jvm, staging
from weir.spark.java_home import find_java
from weir.spark.jvm import error_summary
from weir.spark.settings import (
    FIXED,
    is_local,
    is_loopback,
    is_secret,
    reject_unsupported,
    require_python_memory,
    session_settings,
)

_PREFIX = "weir-spark-"
_LOCK = "owner.lock"
_BASE_BYTES_MAX = 40
"""The maximum length of the parent directory's path, in bytes. Spark creates Unix sockets below the parent directory, and the
kernel limits a socket's path to 107 bytes."""
_YOUNG_S = 60.0
"""A directory younger than _YOUNG_S may belong to a process that has not locked the directory yet."""

CONF_FILE = "WEIR_SPARK_CONF_FILE"
"""Environment variable: the path of a file with Spark settings that must stay secret (lines ``name value`` or ``name=value``)."""


class ScratchDirectory:
    """The private directory of a Spark session.

    Only the user of this process can read ``path``. ``close`` removes the directory. If the process is killed, the next session
    removes the directory.
    """

    def __init__(self) -> None:
        base = tempfile.gettempdir()
        if len(os.fsencode(base)) > _BASE_BYTES_MAX:
            base = "/tmp"
        _remove_abandoned(Path(base))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        # Child processes do not inherit this descriptor, so the lock is released when this process ends.
        self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_abandoned(base: Path) -> None:
    for path in base.glob(f"{_PREFIX}*"):
        try:
            state = path.lstat()
            if state.st_uid != os.getuid() or time.time() - state.st_mtime < _YOUNG_S:
                continue
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            pass  # The owner of the directory is running.
        finally:
            os.close(lock)


_scratch: dict[int, ScratchDirectory] = {}
"""Maps the identity of a SparkContext to the private directory of its session. The JVM of the context can be dead."""


@dataclass(frozen=True, slots=True)
class DriverAddress:
    """Address of the driver.

    The coordinator listens on ``bind``. Slots and Spark's executors connect to ``advertise``.
    """

    bind: str
    advertise: str


def open_session(
    master: str, slots: int, *, app_name: str = "weir", extra_conf: Mapping[str, str] | None = None
) -> SparkSession:  # fmt: skip
    """Open a session. With the master ``local`` or ``local[*]``, the session gets ``slots`` cores. Spares count as slots.

    ``extra_conf`` overrides the file that WEIR_SPARK_CONF_FILE names. Raise ConfigError if a setting is not supported, if
    no suitable Java is found, or if a Spark session is already running in this process.
    """
    if SparkContext._active_spark_context is not None:
        raise ConfigError(
            f"A Spark session already runs in this process ({SparkContext._active_spark_context.appName}), and its settings cannot be "
            "changed. Stop that session before the job starts, start the job with `weir run`, or pass the session to weir.run "
            "(spark=)."
        )
    extra = _conf_file(os.environ.get(CONF_FILE)) | dict(extra_conf or {})
    scratch = ScratchDirectory()
    try:
        settings = session_settings(master, slots, app_name=app_name, extra=extra, scratch=scratch.path)
        _set_environment(master)
        context = _context(master, settings)
    except BaseException:
        jvm.end()
        scratch.close()
        raise
    _scratch[id(context)] = scratch
    return SparkSession(context)


def close_session(spark: SparkSession) -> None:
    """Stop the application, end the driver's JVM and remove temporary files. Safe to call twice."""
    context = SparkContext._active_spark_context
    if context is None:
        return
    scratch = _scratch.pop(id(context), None)
    try:
        spark.stop()
    except (Py4JError, PySparkException, OSError):
        # The JVM has already exited. Reset pyspark's attributes, or pyspark would treat the session as running.
        SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None
    finally:
        jvm.end()
        if scratch is not None:
            scratch.close()


def is_own_session(context: SparkContext) -> bool:
    """Return whether ``open_session`` has opened the session of ``context``."""
    return id(context) in _scratch


def driver_address(spark: SparkSession) -> DriverAddress:
    conf = spark.sparkContext.getConf()
    if is_local(str(spark.sparkContext.master)):
        return DriverAddress(bind="127.0.0.1", advertise="127.0.0.1")
    advertise = conf.get("spark.driver.host") or "127.0.0.1"
    return DriverAddress(bind=conf.get("spark.driver.bindAddress") or advertise, advertise=advertise)


def _context(master: str, settings: Mapping[str, str]) -> SparkContext:
    conf = _conf(settings)
    try:
        return SparkContext(conf=conf, gateway=SparkContext._gateway)
    except (Py4JError, PySparkException) as error:
        raise ConfigError(f"Cannot start Spark with the master {master!r}: {error_summary(error)}") from error


def _conf(settings: Mapping[str, str]) -> SparkConf:
    """Start the JVM if it is not running, and pass it the settings. Secret settings are passed over the gateway."""
    if SparkContext._gateway is None:
        launched = jvm.launch(settings)
        SparkContext._ensure_initialized(gateway=launched)
    conf = SparkConf(_jvm=SparkContext._jvm)
    # Check the settings that come from spark-defaults.conf and spark-submit.
    reject_unsupported({name: value for name, value in conf.getAll() if name not in settings}, where="Spark's own configuration")
    conf.setAll(list(settings.items()))
    # Check the Python memory after all settings are merged, because spark-defaults.conf and spark-submit can declare it too.
    require_python_memory(settings["spark.master"], dict(conf.getAll()))
    return conf


def _set_environment(master: str) -> None:
    """Set the environment variables of this process that pyspark and the JVM launcher read."""
    if not jvm.belongs_to_spark_submit():
        find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # pyspark reads some of the fixed settings from the environment.
    os.environ["PYSPARK_UDS_MODE"] = FIXED["spark.python.unix.domain.socket.enabled"][0]
    os.environ["PYSPARK_PIN_THREAD"] = "true"
    if is_loopback(master):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def _conf_file(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        lines = Path(path).read_text().splitlines()
        exposed = bool(Path(path).stat().st_mode & 0o077)
    except OSError as error:
        raise ConfigError(f"Cannot read the Spark settings file {path} from {CONF_FILE}: {error.strerror}") from error
    settings = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        # A value can contain "=" (-XX:Option=1), but a name cannot.
        parts = re.fullmatch(r"(spark\.[^\s=]+)(?:\s*=\s*|\s+)([^\s=].*)", line.strip())
        if parts is None:
            raise ConfigError(f"{path} line {number}: not a Spark setting. Write `spark.name value`.")
        settings[parts[1]] = parts[2]
    if exposed and any(map(is_secret, settings)):
        raise ConfigError(f"{path} contains a secret, and other users can read it. Run: chmod 600 {path}")
    return settings


class LazySession:
    """A Spark session that is opened when a Spark query or the slots first need it. A LazySession is also a SparkPlanner.

    If the master does not specify the number of cores, the session gets ``slots`` cores (including spares).
    """

    def __init__(self, master: str, slots: int, *, app_name: str, conf: Mapping[str, str]) -> None:
        self._master = master
        self._slots = slots
        self._app_name = app_name
        self._conf = dict(conf)
        self._session: SparkSession | None = None

    @property
    def context(self) -> SparkContext:
        """The context that submits the slots."""
        return self.get().sparkContext

    @property
    def occupied(self) -> int:
        """The number of task slots that other jobs in the session use."""
        return 0

    def get(self) -> SparkSession:
        if self._session is None:
            self._session = open_session(self._master, self._slots, app_name=self._app_name, extra_conf=self._conf)
        return self._session

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            close_session(session)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Allow jobs inside this context to have sources that are Spark queries."""
        with use_planner(self):
            yield

    def schema(self, query: Query) -> pa.Schema:
        return staging.frame_schema(self._frame(query))

    def stage(self, query: Query, directory: str) -> StagedDataFrame:
        where, schema = staging.stage_dataframe(self._frame(query), directory)
        return StagedDataFrame(where, encode_schema(schema))

    def _frame(self, query: Query) -> DataFrame:
        if isinstance(query, str):
            return staging.analyze_query(self.get(), query)
        frame = query(self.get())
        if not isinstance(frame, DataFrame):
            raise GraphError(f"The function of a DataFrame source returned {type(frame).__name__} instead of a Spark DataFrame.")
        return frame
