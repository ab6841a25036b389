"""The output of ``weir up`` and ``weir down``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import typer

from weir.cli.output import print_json
from weir_workers.embedded.constants import DATABASE_URL, POSTGRES, REDIS_URL, SCHEMA, SUPERVISOR, TITLES, weir_version
from weir_workers.embedded.data_dir import credentials
from weir_workers.embedded.data_dir.credentials import ADMINISTRATOR
from weir_workers.embedded.data_dir.layout import DataDir, data_dir
from weir_workers.embedded.data_dir.platform_state import PlatformState
from weir_workers.embedded.supervisor.state_machine import State

_DONE = {State.READY: "ready", State.DONE: "ready", State.STOPPED: "stopped"}


def say(line: str = "") -> None:
    typer.echo(line)


class ProgressPrinter:
    """Prints a line whenever a process becomes ready or fails (``up``), or has stopped (``down``)."""

    def __init__(self, *, ends: bool = False) -> None:
        """``ends`` is True if the platform is being stopped."""
        self._ends = ends
        self._shown: set[tuple[str, State]] = set()
        self._failures: dict[str, int] = {}
        self._external_shown = False

    def show(self, found: PlatformState) -> None:
        if not self._ends and not self._external_shown and found.external:
            self._external_shown = True
            for name, place in found.external.items():
                variable = DATABASE_URL if name == POSTGRES else REDIS_URL
                say(_line(name, f"external, at {place} ({variable})"))
        # The processes stop in reverse order.
        for name, child in reversed(list(found.children.items())) if self._ends else found.children.items():
            if child.failures > self._failures.get(name, 0) and not self._ends:
                self._failures[name] = child.failures
                say(_line(name, f"{child.problem}; restarting it"))
            if child.state not in _DONE or (child.state is State.STOPPED) != self._ends or (name, child.state) in self._shown:
                continue
            if self._ends and child.ready_after_s is None:
                continue  # it never ran
            if self._ends and child.state is State.STOPPED and name == SCHEMA:
                continue  # the schema process ended by itself while the platform was starting
            self._shown.add((name, child.state))
            after = f"{child.ready_after_s:5.1f} s" if child.ready_after_s is not None and not self._ends else ""
            say(_line(name, f"{_DONE[child.state]} {after}".rstrip()))


class SlowStartNotices:
    """Notices about processes that start slowly: after 10, 20, 40 and 80 s, then every minute."""

    FIRST_S, EVERY_S_MAX = 10.0, 60.0

    def __init__(self, log_of: Callable[[str], Path]) -> None:
        self._log_of = log_of
        self._since: dict[str, tuple[float, float]] = {}
        """For each process, the time when it was first seen starting, and the time when its next notice is due."""

    def lines(self, found: PlatformState | None, now_s: float) -> list[str]:
        """Return the notices that are due. Call it repeatedly. ``found`` is None if the supervisor has not written its state yet."""
        children = found.children if found is not None else {}
        slow = {
            name: f"still starting after {{}}; see {self._log_of(name)}"
            for name, child in children.items()
            if child.state is State.STARTING
        }
        if not children:
            slow = {SUPERVISOR: f"still preparing after {{}}; see {self._log_of(SUPERVISOR)}"}
        self._since = {name: self._since.get(name, (now_s, now_s + self.FIRST_S)) for name in slow}
        due = []
        for name, text in slow.items():
            since_s, due_s = self._since[name]
            if now_s >= due_s:
                taken_s = now_s - since_s
                self._since[name] = (since_s, now_s + min(self.EVERY_S_MAX, taken_s))
                due.append(_line(name, text.format(f"{taken_s:.0f} s")))
        return due


def _line(name: str, text: str) -> str:
    return f"  {TITLES.get(name, name):<9} {text}"


def print_usage(directory: DataDir, found: PlatformState, answer: TextIO | None, *, ran_already: bool = False) -> None:
    """Print the address, the user, and how to stop the platform.

    The initial password is printed only once. If ``answer`` is given, print JSON to ``answer`` instead.
    """
    secrets = credentials.load(directory.secrets)
    password = secrets.admin_password if secrets is not None and not secrets.admin_password_told else None
    if answer is not None:
        print_json(_usage(directory, found, password, ran_already=ran_already), answer)
    else:
        _print_usage(directory, found, password, ran_already=ran_already)
    if secrets is not None and password is not None:
        credentials.mark_password_shown(directory.secrets, secrets)


def _usage(directory: DataDir, found: PlatformState, password: str | None, *, ran_already: bool) -> dict[str, object]:
    ports = asdict(found.ports)
    return {
        "url": found.url,
        "phase": found.phase,
        "ran_already": ran_already,
        "data_dir": str(directory.root),
        "logs_dir": str(directory.logs),
        "user": ADMINISTRATOR,
        "password": password,
        "secrets_file": str(directory.secrets),
        "version": found.version,
        "installed_version": weir_version(),
        "supervisor_pid": found.supervisor.number,
        "processes": [
            {"name": name, "state": child.state, "pid": child.process.number if child.process else None, "port": ports.get(name)}
            for name, child in found.children.items()
        ],
        "external": dict(found.external),
        "notes": list(found.notes),
    }


def _print_usage(directory: DataDir, found: PlatformState, password: str | None, *, ran_already: bool) -> None:
    if not ran_already:
        say()
        for note in found.notes:
            say(f"Note: {note}.")
    say(f"Weir {'is already running' if ran_already else 'is up'}: {found.url}")
    if password is not None:
        say(f"  user      {ADMINISTRATOR}")
        say(f"  password  {password}   (shown once; stored in {directory.secrets})")
    else:
        say(f"  user      {ADMINISTRATOR}   (initial password: {directory.secrets})")
    say(f"  log in    weir login --url {found.url} --name {ADMINISTRATOR}")
    say(f"  logs      {directory.logs}")
    say(f"  stop      weir down{option(directory)}")
    if found.version != weir_version():
        say(
            f"Note: the platform runs version {found.version}, but version {weir_version()} is installed. To upgrade the platform, run "
            f"weir down{option(directory)} && weir up{option(directory)}. Jobs continue to run."
        )


def option(directory: DataDir) -> str:
    """Return the option that selects this directory, or '' if it is the default in this environment."""
    return "" if data_dir(None, os.environ).root == directory.root else f" --data-dir {directory.root}"
