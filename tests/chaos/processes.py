"""The processes of a chaos run: drivers, JVMs, executors and slots. An environment variable marks the processes of a chaos run."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
from tests.chaos.plan import ChaosPlan
from tests.process_details import unless_ended
from tests.standalone_cluster import StandaloneCluster

MARK = "WEIR_CHAOS"
JOB_FILE = Path(__file__).with_name("chaos_job.py")
EXECUTOR_MEMORY_MB = 512


def marked(mark: str) -> Iterator[psutil.Process]:
    """Yield the processes of one driver. In these processes, the environment variable ``MARK`` has the value ``mark``.

    If ``mark`` ends in a slash, yield the processes of all drivers of the run.
    """
    expected = f"\0{MARK}={mark}".encode() + (b"" if mark.endswith("/") else b"\0")
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            environment = b"\0" + Path("/proc", entry, "environ").read_bytes()
            if expected in environment and entry != str(os.getpid()):
                process = psutil.Process(int(entry))
                if process.status() != psutil.STATUS_ZOMBIE:
                    yield process


def kill_all(mark: str) -> list[str]:
    """Kill all processes with the mark and return their descriptions.

    The search is repeated until it finds no process, because a process that ends can still start other processes.
    """
    found: list[str] = []
    for _ in range(50):
        remaining = list(marked(mark))
        if not remaining:
            break
        for process in remaining:
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(f"{process.pid} {' '.join(process.cmdline())[:100]}")
                process.kill()
        psutil.wait_procs(remaining, timeout=1)
    return found


class Driver:
    """A process of ``weir run`` in its own session and process group. ``number`` counts the drivers of a chaos run from 0.

    ``start_options`` are the options that select the restored checkpoint. By default, the first driver starts without state, and
    later drivers resume.
    """

    def __init__(
        self,
        plan: ChaosPlan,
        directory: Path,
        number: int,
        cluster: StandaloneCluster | None,
        start_options: tuple[str, ...] | None = None,
    ) -> None:
        self.number = number
        self.mark = f"{os.getpid()}-{plan.seed}/{number}"
        self.log = directory / f"driver-{number}.log"
        self.stopped = False
        """Whether the driver or its JVM was killed, or the driver was asked to suspend. After a kill or a suspension,
        another driver resumes the job."""
        self.concurrent = False
        """Whether another driver ran at the same time. If two drivers ran at the same time, this
        driver may end as superseded."""
        self.paused = False
        environment = os.environ | {MARK: self.mark}
        command = [sys.executable, "-m", "weir.cli", "run", str(JOB_FILE), *_options(plan, directory, number, cluster)]
        command += (("--resume",) if number else ()) if start_options is None else start_options
        if cluster is not None:
            secrets = directory / "spark.properties"
            if not secrets.exists():
                with open(os.open(secrets, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                    file.writelines(f"{name} {value}\n" for name, value in cluster.session_settings().items())
            environment["WEIR_SPARK_CONF_FILE"] = str(secrets)
            command += ["--conf", f"spark.executorEnv.{MARK}={self.mark}"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.handle = psutil.Process(self.process.pid)

    @property
    def exit_code(self) -> int | None:
        """The exit code, or None while the driver runs. If a signal ended the driver, the value is the negative number of the signal."""
        return self.process.poll()

    def java(self) -> psutil.Process | None:
        for process in marked(self.mark):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.name() == "java" and process.ppid() == self.process.pid:
                    return process
        return None

    def executors(self) -> list[psutil.Process]:
        return self._of("CoarseGrainedExecutorBackend")

    def slots(self) -> list[psutil.Process]:
        """Return the Python workers that have an open connection. If no worker has an open connection, return all Python
        workers."""
        workers = []
        for process in self._of("weir.spark.daemon"):
            with contextlib.suppress(psutil.NoSuchProcess, AttributeError):
                # While Spark starts, the arguments of Spark's shell and JVM also contain the daemon's name.
                if process.name().startswith("python") and "weir.spark.daemon" in " ".join(process.parent().cmdline()):
                    workers.append(process)
        connected = []
        for process in workers:
            connections = unless_ended(process, lambda one: one.net_connections("tcp")) or ()
            if any(connection.status == psutil.CONN_ESTABLISHED for connection in connections):
                connected.append(process)
        return connected or workers

    def _of(self, name: str) -> list[psutil.Process]:
        found = []
        for process in marked(self.mark):
            with contextlib.suppress(psutil.NoSuchProcess):
                if name in " ".join(process.cmdline()):
                    found.append(process)
        return sorted(found, key=lambda process: process.pid)

    def has_logged(self, event: str, *, after: int = 0) -> bool:
        """Return whether the log contains ``event`` after its first ``after`` bytes."""
        with open(self.log, "rb") as file:
            file.seek(after)
            return f'"event": "{event}"'.encode() in file.read()

    def log_bytes(self) -> int:
        return self.log.stat().st_size


def _options(plan: ChaosPlan, directory: Path, number: int, cluster: StandaloneCluster | None) -> list[str]:
    slots = plan.parallelism(number)
    settings = {
        "input": plan.input,
        "keys": plan.keys,
        "groups": plan.groups,
        "text_keys": str(plan.text_keys).lower(),
        "out_keys": directory / "keys",
        "out_groups": directory / "groups",
        "rows_per_file": plan.rows_per_file,
    }
    if plan.files:
        settings |= {
            "data": directory / "input",
            "release": directory / "release",
            "rows_per_second": plan.rows_per_second,
            "blocking": str(plan.blocking).lower(),
        }
    if plan.generated:
        settings |= {"generated": plan.generated, "rate": plan.rate}
    options = [f"--set={name}={value}" for name, value in settings.items()]
    options += ["--parallelism", str(slots), "--spares", str(plan.spares), "--interval", f"{plan.interval_ms}ms"]
    options += ["--checkpoint-dir", str(directory / "checkpoints"), "--log-format", "json", "--verbose"]
    if cluster is not None:
        per_executor = -(-(slots + plan.spares) // 2)
        conf = {
            "spark.cores.max": 2 * per_executor,
            "spark.executor.cores": per_executor,
            "spark.executor.memory": f"{EXECUTOR_MEMORY_MB}m",
        }
        options += ["--master", cluster.master_url, *(f"--conf={name}={value}" for name, value in conf.items())]
    return options
