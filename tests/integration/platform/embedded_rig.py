"""An embedded platform in its own directory, for tests that use its commands, processes and files."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg
from tests.integration.cli.weir_command import ROOT, WEIR, CommandResult, weir

from weir_workers.embedded.data_dir import credentials, platform_state
from weir_workers.embedded.data_dir.credentials import PlatformCredentials
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.platform_state import PlatformState
from weir_workers.file_lock import is_held

WAIT_S = 180.0


class BackgroundCommand(subprocess.Popen[str]):
    """The process of a command. The ``with`` block ends only after the process has ended. If the block raises an
    exception, the process is killed, so that the block does not wait forever."""

    def __exit__(self, exc_type: Any, exc: Any, traceback: Any) -> None:
        if exc_type is not None:
            self.kill()
        super().__exit__(exc_type, exc, traceback)


@dataclass(frozen=True, slots=True)
class Platform:
    root: Path

    def weir(self, command: str, *arguments: str, env: Mapping[str, str] | None = None) -> CommandResult:
        return weir(command, "--data-dir", self.root, *arguments, env=env)

    def start_command(self, command: str, *arguments: str, env: Mapping[str, str] | None = None) -> BackgroundCommand:
        """Start the command and do not wait for its end."""
        return BackgroundCommand(
            [WEIR, command, "--data-dir", self.root, *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )

    @property
    def directory(self) -> DataDir:
        return DataDir(self.root)

    @property
    def state(self) -> PlatformState:
        found = platform_state.read(self.directory.state)
        assert found is not None
        return found

    @property
    def secrets(self) -> PlatformCredentials:
        found = credentials.load(self.directory.secrets)
        assert found is not None
        return found

    @property
    def is_running(self) -> bool:
        return is_held(self.directory.lock)

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of the running child processes."""
        return {name: child.process.number for name, child in self.state.children.items() if child.process is not None}

    def processes(self) -> list[psutil.Process]:
        """Return the supervisor process and all its descendants."""
        supervisor = psutil.Process(self.state.supervisor.number)
        return [supervisor, *supervisor.children(recursive=True)]

    def connect(self) -> psycopg.Connection[Any]:
        password = self.secrets.database_password
        return psycopg.connect(
            f"postgresql://weir:{password}@127.0.0.1:{self.state.ports.postgres}/weir", autocommit=True, connect_timeout=5
        )

    def log(self, name: str) -> str:
        return self.directory.log_of(name).read_text()

    def json_log(self, name: str) -> list[dict[str, Any]]:
        """Parse and return the JSON lines of the log."""
        return [json.loads(line) for line in self.log(name).splitlines() if line.startswith("{")]


def until(condition: Callable[[], bool], what: str, timeout_s: float = WAIT_S) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"timed out after {timeout_s:.0f} s waiting for: {what}"
        time.sleep(0.05)


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def with_argument(text: str, processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the processes whose arguments contain ``text``."""
    found = []
    for process in processes:
        try:
            if text in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue  # the process has ended
    return found


def argument_lists(processes: list[psutil.Process]) -> str:
    return "\n".join(Path(f"/proc/{one.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode() for one in alive(processes))


def readable_by_others(root: Path) -> list[Path]:
    """Return the files below ``root`` that other users can read."""
    found = []
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if Path(folder, name).stat().st_mode & 0o001]
        found += [Path(folder, name) for name in files if Path(folder, name).stat().st_mode & 0o044]
    return found
