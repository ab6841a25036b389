"""``weir up``: start a supervisor in the background and wait until the platform is up, or run as the supervisor (``--foreground``)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import TextIO

from weir.errors import ConfigError
from weir_backend.kit import logs
from weir_workers.embedded.cli.output import ProgressPrinter, SlowStartNotices, option, print_usage, say
from weir_workers.embedded.constants import NOTHING_STARTED, OWNED, STOPPED, SUPERVISOR, TITLES
from weir_workers.embedded.data_dir import platform_state
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.logs import tail
from weir_workers.embedded.data_dir.platform_state import Phase, PlatformState, failed_child
from weir_workers.embedded.supervisor.state_machine import State
from weir_workers.file_lock import is_held

POLL_S = 0.05
SILENT_S_MAX = 900.0
"""If the state does not change for this time, the start has failed. This time is long, because a database does not report progress while it
replays its log."""
STOP_S_MAX = 120.0


def up(directory: DataDir, environment: Mapping[str, str], answer: TextIO | None) -> None:
    """Start the platform. Print the result to ``answer`` as JSON, or to the terminal if ``answer`` is None. Raises ConfigError."""
    directory.make()
    while True:
        if is_held(directory.lock):
            found = _watch(directory, None)
            if found is None:
                continue  # another command has stopped the platform in the meantime
            print_usage(directory, found, answer, ran_already=True)
            return
        say(f"Starting Weir in {directory.root}")
        own = _launch(directory, environment)
        found = _watch(directory, own)
        if found is not None:
            print_usage(directory, found, answer)
            return


def up_in_foreground(directory: DataDir, environment: Mapping[str, str], answer: TextIO | None) -> int:
    """Run the platform until it is stopped. Returns an exit code. ``answer``: as for ``up``. Raises ConfigError."""
    from weir_workers.embedded.supervisor import process as supervisor  # imported here because it loads many libraries

    directory.make()
    progress, notices, usage_printed = ProgressPrinter(), SlowStartNotices(directory.log_of), False
    latest: list[PlatformState] = []

    def show(found: PlatformState) -> None:
        nonlocal usage_printed
        latest[:] = [found]
        if found.phase in (Phase.STARTING, Phase.UP):
            progress.show(found)
        if found.phase is Phase.STARTING:
            for line in notices.lines(found, time.monotonic()):
                say(line)
        if found.phase is Phase.UP and not usage_printed:
            usage_printed = True
            print_usage(directory, found, answer)
        elif found.phase is Phase.STOPPING and usage_printed:
            usage_printed = False
            say("Stopping Weir")

    say(f"Starting Weir in {directory.root}")
    with _supervisor_log(directory) as log:
        logs.configure(stream=log)
        code = supervisor.supervise(directory, dict(environment), show)
    if code == OWNED:
        say("Weir is already running.")
        if answer is not None and (found := platform_state.read(directory.state)) is not None:
            print_usage(directory, found, answer, ran_already=True)
        return 0
    if code == NOTHING_STARTED:
        raise ConfigError(latest[0].problem)
    say("Weir is down.")
    return code


def _launch(directory: DataDir, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the supervisor in its own session and without the streams of this process, so that it
    continues when the terminal is closed."""
    with _supervisor_log(directory) as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "weir_workers.embedded.supervisor.process", directory.root],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=directory.root,
            start_new_session=True,
        )


def _supervisor_log(directory: DataDir) -> TextIO:
    descriptor = os.open(directory.log_of(SUPERVISOR), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return os.fdopen(descriptor, "a", buffering=1)


def _watch(directory: DataDir, own: subprocess.Popen[bytes] | None) -> PlatformState | None:
    """Print the progress of a starting platform until it is up. ``own``: the supervisor that this command has started, or None if another
    command has started it.

    Returns None if another command has stopped the platform and the lock is free. Raises ConfigError.
    """
    progress, notices = ProgressPrinter(), SlowStartNotices(directory.log_of)
    seen: PlatformState | None = None
    watched = own is not None
    changed_s = time.monotonic()
    while True:
        found = platform_state.read(directory.state)
        if found is not None and not (found.supervisor.lives if own is None else found.supervisor.number == own.pid):
            found = None  # this is the state of an earlier supervisor
        if found is not None and found != seen:
            if found.phase is Phase.STOPPING and (seen is None or seen.phase is not Phase.STOPPING):
                say("The platform is stopping; waiting until it has stopped.")
            watched = watched or found.phase is Phase.STARTING
            seen, changed_s = found, time.monotonic()
            if watched and found.phase in (Phase.STARTING, Phase.UP):
                progress.show(found)
        if found is not None and found.phase is Phase.UP:
            return found
        if found is None or found.phase is Phase.STARTING:
            for line in notices.lines(found, time.monotonic()):
                say(line)
        if found is not None and (name := failed_child(found)) is not None:
            problem = found.children[name].problem
            if own is not None:
                _end(own)
            raise ConfigError(
                f"{TITLES[name]} cannot start: {problem}. {_end_of_log(directory, name)}"
                + ("\nThe platform has been stopped again." if own is not None else "")
            )
        if own is not None and (code := own.poll()) is not None:
            if code == OWNED:
                say("Another command is already starting the platform.")
                own = None  # from now on, wait for the platform of the other command
                changed_s = time.monotonic()
            elif code == NOTHING_STARTED and found is not None and found.phase is Phase.FAILED:
                raise ConfigError(found.problem)
            elif code == STOPPED:
                raise ConfigError("the platform was stopped while it was starting")
            else:
                raise ConfigError(f"the supervisor exited with {code}. {_end_of_log(directory, SUPERVISOR)}")
        if own is None and not is_held(directory.lock):
            return None
        if time.monotonic() > changed_s + SILENT_S_MAX:
            raise ConfigError(
                f"the platform is not up, and nothing has changed for {SILENT_S_MAX:.0f} s: {_slow_processes(directory, found)}. The supervisor "
                f"continues. To wait again, run weir up{option(directory)}. To stop the platform, run weir down{option(directory)}"
            )
        time.sleep(POLL_S)


def _slow_processes(directory: DataDir, found: PlatformState | None) -> str:
    children = found.children.items() if found is not None else ()
    slow = [name for name, child in children if child.state is State.STARTING] or [SUPERVISOR]
    return ", ".join(f"{TITLES.get(name, name)} is not ready, see {directory.log_of(name)}" for name in slow)


def _end(own: subprocess.Popen[bytes]) -> None:
    own.terminate()
    try:
        own.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        own.kill()
        own.wait()


def _end_of_log(directory: DataDir, name: str) -> str:
    log = directory.log_of(name)
    lines = tail(log, 8)
    return f"The end of {log}:\n" + ("\n".join(f"  {line}" for line in lines.splitlines()) if lines else "  (it is empty)")
