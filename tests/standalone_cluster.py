"""A standalone Spark cluster on the loopback interface. The master and each worker are processes that require authentication.

The cluster is for tests, and for trying out executor failures. Only the user who starts the cluster can read the files with
its secret. The cluster runs only on Linux, where its processes end with the thread that started them (PR_SET_PDEATHSIG), even
if the thread is killed.
"""

from __future__ import annotations

import base64
import ctypes
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark.find_spark_home import _find_spark_home

from weir.errors import SlotError
from weir.spark.java_home import find_java
from weir.spark.settings import AUTH_SECRET

_PDEATHSIG = 1
_POLL_S = 0.05
_LAST_LINES = 5
_libc = ctypes.CDLL(None)

_LOGGING = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n%ex
"""


class StandaloneCluster:
    """A standalone Spark cluster. Call order: start -> session_settings -> stop. In a ``with`` statement, ``start`` and
    ``stop`` are called automatically.

    ``cores`` and ``memory_mb`` apply to each of the ``workers``. A worker runs one executor per application.
    """

    def __init__(self, *, workers: int, cores: int, memory_mb: int = 1024, start_timeout_s: float = 180.0) -> None:
        self._workers = workers
        self._cores = cores
        self._memory_mb = memory_mb
        self._start_timeout_s = start_timeout_s
        self._directory: Path | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._secret = secrets.token_urlsafe(32)
        self._ui_key = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
        self.master_url = ""

    @property
    def directory(self) -> Path:
        """Directory of the logs (``master.log``, ``worker-0.log``) and the executors' files. ``stop`` removes the directory."""
        if self._directory is None:
            raise AssertionError("the cluster is not started")
        return self._directory

    @property
    def pids(self) -> tuple[int, ...]:
        """Pids of the master and the workers. Each executor is a child process of its worker."""
        return tuple(process.pid for process in self._processes)

    def start(self) -> None:
        """Start the cluster. The call returns when every worker has registered. If a process fails, raise SlotError
        with the end of the log of this process."""
        find_java()
        self._directory = Path(tempfile.mkdtemp(prefix="weir-standalone-"))
        try:
            (self.directory / "log4j2.properties").write_text(_LOGGING)
            self._write_properties()
            self._launch("master", "org.apache.spark.deploy.master.Master", "--port", "0")
            self.master_url = self._await("master", r"Starting Spark master at (spark://\S+)")
            for index in range(self._workers):
                self._launch(
                    f"worker-{index}", "org.apache.spark.deploy.worker.Worker", "--port", "0", "--cores", str(self._cores),
                    "--memory", f"{self._memory_mb}M", "--work-dir", str(self.directory / f"work-{index}"), self.master_url,
                )  # fmt: skip
            for index in range(self._workers):
                self._await(f"worker-{index}", r"(Successfully registered with master)")
        except BaseException:
            self.stop()
            raise

    def session_settings(self) -> dict[str, str]:
        """Return the settings that ``open_session(cluster.master_url, ..., extra_conf=...)`` needs."""
        return {
            AUTH_SECRET: self._secret,
            "spark.executor.memory": f"{self._memory_mb}m",
            # Executors start faster without the optimising JIT compiler.
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        }

    def stop(self) -> None:
        """Stop all processes. Each executor ends with its worker. Safe to call twice."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _write_properties(self) -> None:
        # The web UIs of master and worker cannot be disabled, so Spark's JWSFilter refuses all requests without
        # a token that is signed with a secret key.
        ui_filter = "org.apache.spark.ui.JWSFilter"
        settings = {
            "spark.authenticate": "true",
            AUTH_SECRET: self._secret,
            "spark.network.crypto.enabled": "true",
            "spark.ui.filters": ui_filter,
            f"spark.{ui_filter}.param.secretKey": self._ui_key,
            "spark.ui.killEnabled": "false",
            "spark.master.rest.enabled": "false",
            "spark.shuffle.service.enabled": "false",
            "spark.worker.cleanup.enabled": "false",
        }
        descriptor = os.open(self.directory / "cluster.properties", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.writelines(f"{name} {value}\n" for name, value in settings.items())

    def _launch(self, name: str, kind: str, *arguments: str) -> None:
        spark_home = _find_spark_home()
        environment = {variable: value for variable, value in os.environ.items() if not variable.startswith("SPARK_")} | {
            "SPARK_HOME": spark_home,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_HOSTNAME": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"-XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile={(self.directory / 'log4j2.properties').as_uri()}",
        }
        command = [
            f"{spark_home}/bin/spark-class", kind, "--host", "127.0.0.1", "--webui-port", "0",
            "--properties-file", str(self.directory / "cluster.properties"), *arguments,
        ]  # fmt: skip
        with open(self.directory / f"{name}.log", "wb") as log:
            self._processes.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.directory,
                    preexec_fn=_die_with_parent,  # noqa: PLW1509  # the function makes one system call and takes no Python lock
                )
            )

    def _await(self, name: str, pattern: str) -> str:
        """Wait until ``pattern`` is in the log of ``name``, and return the first group of the match."""
        process = self._processes[0 if name == "master" else 1 + int(name.removeprefix("worker-"))]
        log = self.directory / f"{name}.log"
        deadline = time.monotonic() + self._start_timeout_s
        while time.monotonic() < deadline:
            ended = process.poll()
            text = log.read_text(errors="replace")
            match = re.search(pattern, text)
            if match is not None:
                return match.group(1)
            if ended is not None:
                break
            time.sleep(_POLL_S)
        last = " | ".join(log.read_text(errors="replace").splitlines()[-_LAST_LINES:])
        raise SlotError(
            f"The standalone cluster's {name} did not start within {self._start_timeout_s:.0f} s. Its log ends: {last}"
        )


def _die_with_parent() -> None:
    _libc.prctl(_PDEATHSIG, signal.SIGKILL)
