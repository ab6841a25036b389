"""The Spark settings that Weir needs: fixed settings with their reasons, defaults, and secret settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from weir.errors import ConfigError

FIXED: Mapping[str, tuple[str, str]] = {
    "spark.speculation": ("false", "with speculation, Spark starts a second copy of a slow slot"),
    "spark.dynamicAllocation.enabled": ("false", "slots never finish, and Spark would remove executors that look idle"),
    "spark.task.reaper.enabled": ("false", "the task reaper kills a whole executor if one Spark task is slow to stop"),
    "spark.excludeOnFailure.enabled": ("false", "a lost slot must restart on the same executors"),
    "spark.excludeOnFailure.application.enabled": ("false", "a lost slot must restart on the same executors"),
    "spark.excludeOnFailure.taskAndStage.enabled": ("false", "a lost slot must restart on the same executors"),
    "spark.task.cpus": ("1", "a slot is one thread and uses one core"),
    "spark.authenticate": ("true", "Spark transports the job's code, so anyone with access to Spark could run code"),
    "spark.network.crypto.enabled": ("true", "Spark transports the job's secret"),
    "spark.ui.enabled": ("false", "the Spark UI has no password"),
    "spark.python.use.daemon": ("true", "without the daemon, replacing a lost slot takes seconds"),
    "spark.python.worker.reuse": ("true", "without worker reuse, replacing a lost slot takes seconds"),
    "spark.python.worker.idleTimeoutSeconds": ("0", "a running slot sends nothing to Spark"),
    "spark.python.worker.killOnIdleTimeout": ("false", "a running slot sends nothing to Spark"),
    "spark.python.unix.domain.socket.enabled": ("true", "with a TCP port, Spark's Python daemon forks for any client"),
}
"""Maps each setting to its only supported value and the reason."""

UNSUPPORTED: Mapping[str, str] = {
    "spark.barrier.": "slots are separate Spark jobs, because in a barrier stage the loss of one slot stops all slots",
    "spark.scheduler.barrier.": "slots are separate Spark jobs, because in a barrier stage the loss of one slot stops all slots",
    "spark.remote": "Spark Connect cannot run slots; use a classic master (local, spark://, yarn, k8s://)",
}
"""Unsupported settings. A name that ends in a dot is a prefix of settings."""

EXISTING_SESSION = tuple(
    name
    for name in FIXED
    if name.startswith(("spark.speculation", "spark.dynamicAllocation", "spark.task.reaper", "spark.exclude"))
)
"""The settings in ``FIXED`` that an existing session must not change. The other settings in ``FIXED`` make a session safer or
faster, and the owner of an existing session decides about them. ``session_problems`` checks authentication separately."""

TASK_FAILURES_LIMIT = 100
"""In an existing session, ``spark.task.maxFailures`` must not be higher, because Spark would retry a slot that cannot be unpickled
for a long time before the job fails."""

TASK_FAILURES_MAX = 4
"""After this many losses of a slot, its Spark job fails, and the slot pool submits the job again. After each earlier loss, Spark
itself restarts the slot immediately.

Without a limit, Spark would forever retry a DataFrame source whose code raises an error, or a slot that cannot be unpickled.
"""

WORKER_ENVIRONMENT = {
    # A slot uses one thread. Thread pools of the host's size in every slot would compete for cores.
    "POLARS_MAX_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "2",
    # With more arenas, glibc would keep free memory for each thread, and the memory of a slot would grow.
    "MALLOC_ARENA_MAX": "2",
    # By default, Arrow's allocator returns freed memory to the system at once, so batches are written to fresh pages.
    # In the benchmark, fresh pages raise the number of page faults per second from about 1,000 to 11,000.
    # With a delay of -1, a slot keeps the memory that it needed at its peak.
    "MIMALLOC_PURGE_DELAY": "-1",
}

_DEFAULTS = {
    "spark.task.maxFailures": str(TASK_FAILURES_MAX),
    "spark.python.task.killTimeout": "100ms",
    "spark.python.daemon.module": "weir.spark.daemon",
    "spark.ui.showConsoleProgress": "false",
    # With a fixed time zone, a query has the same meaning on every host.
    "spark.sql.session.timeZone": "UTC",
    **{f"spark.executorEnv.{name}": value for name, value in WORKER_ENVIRONMENT.items()},
}

_CLUSTER_DEFAULTS = {
    # Spark detects the loss of an executor by a closed connection or by missing heartbeats. These settings shorten the delay.
    "spark.standalone.executorRemoveDelayOnDisconnection": "100ms",
    "spark.network.timeout": "8s",
    "spark.network.timeoutInterval": "1s",
    "spark.executor.heartbeatInterval": "1s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "8s",
}

_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:\s*,\s*\d+)?\])?")
_LOOPBACK = re.compile(r"spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:|$)")
# Settings with these names can contain secrets.
# Spark redacts such settings in its output, and Weir keeps them out of argument lists.
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
"""Each of these settings reserves memory of an executor's container for purposes other than Java.
``spark.executor.pyspark.memory`` reserves memory only for Python."""


def is_local(master: str) -> bool:
    return _LOCAL.fullmatch(master) is not None


def is_loopback(master: str) -> bool:
    """Return whether all processes run on this host, so that no port needs to be reachable from other hosts."""
    return is_local(master) or _LOOPBACK.match(master) is not None


def is_secret(setting: str) -> bool:
    return _SECRET.search(setting) is not None and _LAUNCH.match(setting) is None


def spark_master(master: str, slots: int) -> str:
    """Return the master for Spark.

    ``local`` and ``local[*]`` get one core per slot, even if the host has fewer cores. ``local[k]`` is unchanged.

    A lost slot's core is free again when Spark restarts the slot, so no extra core is needed.
    """
    match = _LOCAL.fullmatch(master)
    if match is None:
        return master
    cores = match.group(1)
    return f"local[{slots if cores in (None, '*') else cores},{TASK_FAILURES_MAX}]"


def reject_unsupported(conf: Mapping[str, str], *, where: str) -> None:
    """Raise ConfigError for the first unsupported setting in ``conf``. ``where`` names the origin of the settings, for the
    message."""
    for setting, value in conf.items():
        fixed = FIXED.get(setting)
        if fixed is not None and value.strip().lower() != fixed[0]:
            raise ConfigError(
                f"{where}: {setting}={value} is not supported: {fixed[1]}. Remove it (Weir sets {setting}={fixed[0]})."
            )
        for name, reason in UNSUPPORTED.items():
            if setting == name or (name.endswith(".") and setting.startswith(name)):
                raise ConfigError(f"{where}: {setting} is not supported: {reason}. Remove it.")


def session_problems(conf: Mapping[str, str], *, trusted_network: bool) -> list[str]:
    """Return one sentence for each setting of an existing session with which slots cannot run, or cannot run safely.

    ``conf`` are all settings of the session, including ``spark.master``. ``trusted_network``: the user has confirmed that only
    trusted hosts can reach the ports of the cluster.
    """
    master = conf.get("spark.master", "")
    problems = []
    for name in EXISTING_SESSION:
        needed, reason = FIXED[name]
        if name in conf and conf[name].strip().lower() != needed:
            problems.append(f"{name} is {conf[name]}, but {reason}. Set {name}={needed}.")
    for name in conf:
        for prefix, reason in UNSUPPORTED.items():
            if name == prefix or (prefix.endswith(".") and name.startswith(prefix)):
                problems.append(f"{name} is set, but {reason}. Remove it.")
    kills_idle_workers = _is_true(conf, "spark.python.worker.killOnIdleTimeout")
    if kills_idle_workers and conf.get("spark.python.worker.idleTimeoutSeconds", "0").strip() not in ("0", "0s"):
        name = "spark.python.worker.killOnIdleTimeout"
        problems.append(f"{name} is true, but {FIXED[name][1]}. Set {name}=false.")
    failures = conf.get("spark.task.maxFailures", "")
    if failures.isdecimal() and int(failures) > TASK_FAILURES_LIMIT:
        problems.append(
            f"spark.task.maxFailures is {failures}, so Spark would restart a broken slot {failures} times before the job fails. "
            f"Set spark.task.maxFailures={TASK_FAILURES_MAX}."
        )
    if not is_local(master) and not trusted_network:
        problems += _network_problems(conf)
    try:
        require_python_memory(master, conf)
    except ConfigError as error:
        problems.append(str(error))
    return problems


def _network_problems(conf: Mapping[str, str]) -> list[str]:
    advice = "or pass trusted_network=True if only trusted hosts can reach the network of the cluster."
    problems = []
    if not _is_true(conf, "spark.authenticate"):
        reason = FIXED["spark.authenticate"][1]
        problems.append(f"spark.authenticate is not true. {reason}. Set spark.authenticate=true and {AUTH_SECRET}, {advice}")
    if not _is_true(conf, "spark.network.crypto.enabled") and not _is_true(conf, "spark.ssl.rpc.enabled"):
        name = "spark.network.crypto.enabled"
        problems.append(f"{name} is not true, but {FIXED[name][1]}. Set {name}=true, {advice}")
    return problems


def _is_true(conf: Mapping[str, str], name: str) -> bool:
    return conf.get(name, "").strip().lower() == "true"


def session_settings(master: str, slots: int, *, app_name: str, extra: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return all settings of a session. ``extra`` is checked and overrides the defaults. ``scratch`` is a private directory on
    this host.

    Raise ConfigError.
    """
    reject_unsupported(extra, where="Spark settings given to Weir")
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
            f"The standalone cluster {master} requires the secret of its master and workers. Set {AUTH_SECRET} in the file that "
            "WEIR_SPARK_CONF_FILE names (readable only by you) and in the properties files of the master and the workers."
        )
    # If Java does not optimise code that runs once, Spark starts with half the CPU time.
    # The driver's JVM usually does little work, so it does not need optimised code.
    # For large queries in the driver (a DataFrame source under a local master), the user can set -XX:TieredStopAtLevel=4.
    # The user's value is effective because Java uses the last value.
    quiet = f"-XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2-quiet.properties').as_uri()}"
    settings["spark.driver.extraJavaOptions"] = f"{quiet} {settings.get('spark.driver.extraJavaOptions', '')}".strip()
    return settings


def require_python_memory(master: str, settings: Mapping[str, str]) -> None:
    """Raise ConfigError if an executor's container has no memory for Python. ``settings`` are the settings from all sources.

    YARN and Kubernetes kill an executor that exceeds its declared memory. Slots use Python memory (state, batches), not Java
    memory. Weir cannot know how much memory the slots need, so the user must declare it.
    """
    if _CONTAINERS.match(master) and not any(settings.get(name) for name in PYTHON_MEMORY):
        raise ConfigError(
            f"The master {master} kills executors that exceed their declared memory, and slots use Python memory. Declare how much the "
            f"slots of one executor need together, for example --conf {PYTHON_MEMORY[0]}=4g (or {PYTHON_MEMORY[1]})."
        )
