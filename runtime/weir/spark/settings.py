"""Spark's settings as Weir needs them: what is fixed (and why), what is a default, what is secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from weir.errors import ConfigError

FIXED: Mapping[str, tuple[str, str]] = {
    "spark.speculation": ("false", "a second copy of a slot that is merely slow would be a zombie beside it"),
    "spark.dynamicAllocation.enabled": ("false", "a slot never finishes, so Spark would take its idle neighbours away"),
    "spark.task.reaper.enabled": ("false", "it kills whole executors over one task that is slow to stop"),
    "spark.excludeOnFailure.enabled": ("false", "a slot must be started again where its neighbours are"),
    "spark.excludeOnFailure.application.enabled": ("false", "a slot must be started again where its neighbours are"),
    "spark.excludeOnFailure.taskAndStage.enabled": ("false", "a slot must be started again where its neighbours are"),
    "spark.task.cpus": ("1", "a slot is one thread and takes one core"),
    "spark.authenticate": ("true", "the code of the job travels through Spark, and whoever can speak to Spark can run code"),
    "spark.network.crypto.enabled": ("true", "the secret of the job travels through Spark"),
    "spark.ui.enabled": ("false", "its port would answer without a password"),
    "spark.python.use.daemon": ("true", "without it a lost slot takes seconds to come back"),
    "spark.python.worker.reuse": ("true", "without it a lost slot takes seconds to come back"),
    "spark.python.worker.idleTimeoutSeconds": ("0", "a slot says nothing to Spark for as long as it runs"),
    "spark.python.worker.killOnIdleTimeout": ("false", "a slot says nothing to Spark for as long as it runs"),
    "spark.python.unix.domain.socket.enabled": ("true", "a port of Spark's Python daemon forks a process for every stranger"),
}
"""Setting -> (the only value that works, why another one does not)."""

REFUSED: Mapping[str, str] = {
    "spark.barrier.": "slots are separate Spark jobs: in a barrier stage the loss of one slot stops them all",
    "spark.scheduler.barrier.": "slots are separate Spark jobs: in a barrier stage the loss of one slot stops them all",
    "spark.remote": "Spark Connect cannot host slots; give a classic master (local, spark://, yarn, k8s://)",
}
"""Settings (or beginnings of their names, where they end in a dot) that nobody may set."""

TASK_FAILURES_MAX = 4
"""Spark starts a lost slot again this often by itself, at once; then its job fails, and the slot pool submits it again.

Not endless: a DataFrame source whose code raises would be tried for ever, and so would a slot that cannot be unpickled.
"""

_WORKER_ENVIRONMENT = {
    # One slot is one thread of work. Pools as wide as the machine, in every slot, only fight each other.
    "POLARS_MAX_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "2",
    # glibc keeps an arena of free memory for each thread otherwise, and a slot grows without owning anything.
    "MALLOC_ARENA_MAX": "2",
    # Arrow's allocator would give freed memory back to the system all the time, and batches would be written into fresh pages:
    # in the benchmark 11,000 page faults a second, where about a thousand are left. What a slot needed once it keeps.
    "MIMALLOC_PURGE_DELAY": "-1",
}

_DEFAULTS = {
    "spark.task.maxFailures": str(TASK_FAILURES_MAX),
    "spark.python.task.killTimeout": "100ms",
    "spark.python.daemon.module": "weir.spark.daemon",
    "spark.ui.showConsoleProgress": "false",
    # Readers of what a DataFrame source staged see the type that Arrow and Parquet have, not Spark's legacy INT96.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # The same query means the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    **{f"spark.executorEnv.{name}": value for name, value in _WORKER_ENVIRONMENT.items()},
}

_CLUSTER_DEFAULTS = {
    # How soon the loss of an executor is noticed: its connection closed, and (hung) its heartbeats missing.
    "spark.standalone.executorRemoveDelayOnDisconnection": "100ms",
    "spark.network.timeout": "8s",
    "spark.network.timeoutInterval": "1s",
    "spark.executor.heartbeatInterval": "1s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "8s",
}

_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:\s*,\s*\d+)?\])?")
_LOOPBACK = re.compile(r"spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:|$)")
# What Spark itself redacts, and what must therefore not be in an argument list either.
_SECRET = re.compile(r"secret|password|token|access[.]?key|credential|session.?key", re.IGNORECASE)
_LAUNCH = re.compile(r"spark\.(authenticate|ui\.enabled)$")

_CONTAINERS = re.compile(r"yarn$|k8s://")

AUTH_SECRET = "spark.authenticate.secret"
PYTHON_MEMORY = (
    "spark.executor.pyspark.memory",
    "spark.executor.memoryOverhead",
    "spark.executor.memoryOverheadFactor",
    "spark.kubernetes.memoryOverheadFactor",
)
"""Each of them makes room in an executor's container for what is not Java. The first one is meant for Python."""


def is_local(master: str) -> bool:
    return _LOCAL.fullmatch(master) is not None


def is_loopback(master: str) -> bool:
    """Everything is on this machine, so nothing needs to listen on its network."""
    return is_local(master) or _LOOPBACK.match(master) is not None


def is_secret(setting: str) -> bool:
    return _SECRET.search(setting) is not None and _LAUNCH.match(setting) is None


def spark_master(master: str, slots: int) -> str:
    """``local`` and ``local[*]`` get a core a slot, whatever the machine has; ``local[k]`` keeps its k.

    A core that a lost slot had is free again when Spark starts the slot anew: no core in reserve is needed for that.
    """
    match = _LOCAL.fullmatch(master)
    if match is None:
        return master
    cores = match.group(1)
    return f"local[{slots if cores in (None, '*') else cores},{TASK_FAILURES_MAX}]"


def refuse_unsuitable(conf: Mapping[str, str], *, where: str) -> None:
    """Raises ConfigError for the first setting in ``conf`` that would break a running job. ``where`` it was found, for people."""
    for setting, value in conf.items():
        fixed = FIXED.get(setting)
        if fixed is not None and value.strip().lower() != fixed[0]:
            raise ConfigError(
                f"{where}: {setting}={value} cannot be used: {fixed[1]}. Remove it (Weir sets {setting}={fixed[0]})"
            )
        for name, reason in REFUSED.items():
            if setting == name or (name.endswith(".") and setting.startswith(name)):
                raise ConfigError(f"{where}: {setting} cannot be used: {reason}. Remove it")


def session_settings(master: str, slots: int, *, app_name: str, extra: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """All settings of a session, ``extra`` (checked here) over the defaults. ``scratch``: a private directory of this machine.

    Raises ConfigError.
    """
    refuse_unsuitable(extra, where="Spark settings given to Weir")
    settings = {setting: value for setting, (value, _) in FIXED.items()} | _DEFAULTS
    if not is_local(master):
        settings |= _CLUSTER_DEFAULTS
    if is_loopback(master):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.python.unix.domain.socket.dir": str(scratch),
        }
    settings |= extra
    settings |= {"spark.master": spark_master(master, slots), "spark.app.name": app_name}
    if master.startswith("spark://") and not settings.get(AUTH_SECRET):
        raise ConfigError(
            f"the standalone cluster {master} needs the secret that its master and workers were started with: put "
            f"{AUTH_SECRET} into the file that WEIR_SPARK_CONF_FILE names (readable by you alone), "
            "and into the properties files of the master and the workers"
        )
    # Spark's start costs half of the processor time if Java does not optimise what runs once. The driver does little work;
    # who has it run large queries (a DataFrame source under a local master) gives -XX:TieredStopAtLevel=4, and the last one counts.
    quiet = f"-XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2-quiet.properties').as_uri()}"
    settings["spark.driver.extraJavaOptions"] = f"{quiet} {settings.get('spark.driver.extraJavaOptions', '')}".strip()
    return settings


def demand_python_memory(master: str, settings: Mapping[str, str]) -> None:
    """``settings``: all there are, wherever they were given. Raises ConfigError: YARN and Kubernetes kill an executor that takes
    more memory than was declared, and what slots take (state, batches) is Python's, not Java's. How much it is only the user knows.
    """
    if _CONTAINERS.match(master) and not any(settings.get(name) for name in PYTHON_MEMORY):
        raise ConfigError(
            f"the master {master} kills executors that take more memory than is declared, and slots are Python: say how much the "
            f"slots of one executor take together, for example --conf {PYTHON_MEMORY[0]}=4g (or {PYTHON_MEMORY[1]})"
        )
