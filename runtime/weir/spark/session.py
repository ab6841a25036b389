"""The Spark session of a job: opened with settings that keep slots alive and strangers out, closed without remains."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weir.errors import ConfigError
from weir.spark import gateway
from weir.spark.java import find_java
from weir.spark.reasons import gist
from weir.spark.scratch import Scratch
from weir.spark.settings import FIXED, demand_python_memory, is_loopback, is_secret, refuse_unsuitable, session_settings

CONF_FILE = "WEIR_SPARK_CONF_FILE"
"""Environment variable: a file of Spark settings (``name value`` or ``name=value`` lines), for those that are secret."""

_scratch: dict[int, Scratch] = {}
"""Identity of the SparkContext (whose Java may be dead and cannot be asked for a name) -> its private directory."""


@dataclass(frozen=True, slots=True)
class DriverAddress:
    """``bind``: where the coordinator listens. ``advertise``: how slots reach it; the same that Spark's executors use."""

    bind: str
    advertise: str


def open_session(
    master: str, slots: int, *, app_name: str = "weir", extra_conf: Mapping[str, str] | None = None
) -> SparkSession:  # fmt: skip
    """A new session with ``slots`` cores where Weir decides that (``local``, ``local[*]``); spares count as slots.

    ``extra_conf`` goes over the file that WEIR_SPARK_CONF_FILE names. Raises ConfigError for settings that would break
    the design, when there is no usable Java, or when another Spark session runs in this process.
    """
    if SparkContext._active_spark_context is not None:
        raise ConfigError(
            f"a Spark session already runs in this process ({SparkContext._active_spark_context.appName}) and its settings "
            "cannot be changed any more: stop it before the job starts, or start the job by `weir run`"
        )
    extra = _conf_file(os.environ.get(CONF_FILE)) | dict(extra_conf or {})
    scratch = Scratch()
    try:
        settings = session_settings(master, slots, app_name=app_name, extra=extra, scratch=scratch.path)
        _settle_environment(master)
        context = _context(master, settings)
    except BaseException:
        gateway.end()
        scratch.close()
        raise
    _scratch[id(context)] = scratch
    return SparkSession(context)


def close_session(spark: SparkSession) -> None:
    """Stop the application, end the driver's JVM, remove what was temporary. Safe to call twice."""
    context = SparkContext._active_spark_context
    if context is None:
        return
    scratch = _scratch.pop(id(context), None)
    try:
        spark.stop()
    except (Py4JError, PySparkException, OSError):
        # The JVM is gone already. pyspark would take the session for a running one for ever.
        SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None
    finally:
        gateway.end()
        if scratch is not None:
            scratch.close()


def driver_address(spark: SparkSession) -> DriverAddress:
    conf = spark.sparkContext.getConf()
    advertise = conf.get("spark.driver.host") or "127.0.0.1"
    return DriverAddress(bind=conf.get("spark.driver.bindAddress") or advertise, advertise=advertise)


def _context(master: str, settings: Mapping[str, str]) -> SparkContext:
    conf = _conf(settings)
    try:
        return SparkContext(conf=conf, gateway=SparkContext._gateway)
    except (Py4JError, PySparkException) as error:
        raise ConfigError(f"Spark did not start with the master {master!r}: {gist(error)}") from error


def _conf(settings: Mapping[str, str]) -> SparkConf:
    """Starts the JVM, if there is none, and hands it the settings; the secret ones only now, over the gateway."""
    if SparkContext._gateway is None:
        launched = gateway.launch(settings)
        SparkContext._ensure_initialized(gateway=launched)
    conf = SparkConf(_jvm=SparkContext._jvm)
    # Those of spark-defaults.conf or of spark-submit, which nobody has looked at yet.
    refuse_unsuitable({name: value for name, value in conf.getAll() if name not in settings}, where="Spark's own configuration")
    conf.setAll(list(settings.items()))
    # Only now, as it may have been declared there, too.
    demand_python_memory(settings["spark.master"], dict(conf.getAll()))
    return conf


def _settle_environment(master: str) -> None:
    """What pyspark and the launcher of the JVM read from this process' environment."""
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # The fixed settings are the same for pyspark's own side.
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
        raise ConfigError(f"cannot read the file of Spark settings {path} that {CONF_FILE} names: {error.strerror}") from error
    settings = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        # A value may contain "=" (-XX:Option=1), a name may not.
        parts = re.fullmatch(r"(spark\.[^\s=]+)(?:\s*=\s*|\s+)([^\s=].*)", line.strip())
        if parts is None:
            raise ConfigError(f"{path} line {number}: not a Spark setting; write `spark.name value`")
        settings[parts[1]] = parts[2]
    if exposed and any(map(is_secret, settings)):
        raise ConfigError(f"{path} holds a secret and others can read it: chmod 600 {path}")
    return settings
