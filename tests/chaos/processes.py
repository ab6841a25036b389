"""The processes of a chaos run: drivers with their Java, executors and slots, found by a mark in their environment."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
from tests.chaos.plan import Plan

from weir.spark.standalone import StandaloneCluster

MARK = "WEIR_CHAOS"
JOB_FILE = Path(__file__).with_name("chaos_job.py")
EXECUTOR_MEMORY_MB = 512


def marked(mark: str) -> Iterator[psutil.Process]:
    """Processes of the driver ``mark``; of a whole run, if it ends in a slash."""
    wanted = f"\0{MARK}={mark}".encode() + (b"" if mark.endswith("/") else b"\0")
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            environment = b"\0" + Path("/proc", entry, "environ").read_bytes()
            if wanted in environment and entry != str(os.getpid()):
                process = psutil.Process(int(entry))
                if process.status() != psutil.STATUS_ZOMBIE:
                    yield process


def kill_all(mark: str) -> list[str]:
    """Whatever is left, again and again, as the dying may still start others. Returns what there was."""
    found: list[str] = []
    for _ in range(50):
        left = list(marked(mark))
        if not left:
            break
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(f"{process.pid} {' '.join(process.cmdline())[:100]}")
                process.kill()
        psutil.wait_procs(left, timeout=1)
    return found


class Driver:
    """One ``weir run``, in a session and process group of its own. ``number`` counts the drivers of a run from 0.

    ``how`` the job is started, as options; None: the first driver from nothing, the others go on."""

    def __init__(
        self,
        plan: Plan,
        directory: Path,
        number: int,
        cluster: StandaloneCluster | None,
        how: tuple[str, ...] | None = None,
    ) -> None:
        self.number = number
        self.mark = f"{os.getpid()}-{plan.seed}/{number}"
        self.log = directory / f"driver-{number}.log"
        self.doomed = False
        """Was killed, or its Java was, or it was told to stop: another one goes on."""
        self.rival = False
        """There was another driver beside it, so it may be superseded."""
        self.paused = False
        environment = os.environ | {MARK: self.mark}
        command = [sys.executable, "-m", "weir.cli", "run", str(JOB_FILE), *_options(plan, directory, number, cluster)]
        command += (("--resume",) if number else ()) if how is None else how
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
        """None: it runs. Negative: the signal that ended it."""
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
        """Python workers, those with connections (to the coordinator or to each other) if there are any."""
        workers = []
        for process in self._of("weir.spark.daemon"):
            with contextlib.suppress(psutil.NoSuchProcess, AttributeError):
                # While Spark is being launched its shell and Java name the daemon in their arguments, too.
                if process.name().startswith("python") and "weir.spark.daemon" in " ".join(process.parent().cmdline()):
                    workers.append(process)
        connected = []
        for process in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(line.status == psutil.CONN_ESTABLISHED for line in process.net_connections("tcp")):
                    connected.append(process)
        return connected or workers

    def _of(self, name: str) -> list[psutil.Process]:
        found = []
        for process in marked(self.mark):
            with contextlib.suppress(psutil.NoSuchProcess):
                if name in " ".join(process.cmdline()):
                    found.append(process)
        return sorted(found, key=lambda process: process.pid)

    def said(self, event: str, *, after: int = 0) -> bool:
        """Whether its log has a line of ``event`` beyond the first ``after`` bytes."""
        with open(self.log, "rb") as file:
            file.seek(after)
            return f'"event": "{event}"'.encode() in file.read()

    def log_bytes(self) -> int:
        return self.log.stat().st_size


def _options(plan: Plan, directory: Path, number: int, cluster: StandaloneCluster | None) -> list[str]:
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
            "beside": str(plan.beside).lower(),
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
