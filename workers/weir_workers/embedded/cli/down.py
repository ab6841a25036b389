"""``weir down``: ask the supervisor to stop the platform, and wait until it has stopped."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import psutil

from weir.cli.output import print_json
from weir.errors import ConfigError
from weir_workers.embedded.cli.output import ProgressPrinter, option, say
from weir_workers.embedded.data_dir import platform_state
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.platform_state import PlatformState
from weir_workers.embedded.supervisor.services import end_leftovers
from weir_workers.file_lock import Lock, is_held

POLL_S = 0.05
SPOOL = "WEIR_RUN_SPOOL"
"""The environment variable of drivers that names the spool directory of the run. Slots inherit it."""
COMMAND_CHARACTERS = 100
STOP_S_MAX = 150.0
"""``weir down`` waits longer for the supervisor than the supervisor waits for its children."""


def down(directory: DataDir, answer: TextIO | None) -> None:
    """Stop the platform, and print the progress. If ``answer`` is given, also print the result to ``answer`` as JSON. Raises
    ConfigError."""
    ran = is_held(directory.lock)
    if not ran:
        _clean_up(directory)
        say(f"Weir is not running in {directory.root}.")
    else:
        say(f"Stopping Weir in {directory.root}")
        _stop(directory)
        say("Weir is down.")
    left = living_drivers(directory.root)
    _print_drivers(directory, left)
    if answer is not None:
        drivers = [{"pid": driver.process, "run": driver.run, "command": driver.command} for driver in left]
        print_json({"data_dir": str(directory.root), "was_running": ran, "drivers": drivers}, answer)


def _stop(directory: DataDir) -> None:
    found = _owner(directory)
    found.supervisor.signal(signal.SIGTERM)
    progress = ProgressPrinter(ends=True)
    deadline_s = time.monotonic() + STOP_S_MAX
    # The supervisor releases the lock shortly before its process ends.
    while is_held(directory.lock) or found.supervisor.lives:
        if (now := platform_state.read(directory.state)) is not None:
            progress.show(now)
        if time.monotonic() > deadline_s:
            say("  the supervisor does not stop; killing it")
            found.supervisor.signal(signal.SIGKILL)
            deadline_s = time.monotonic() + STOP_S_MAX
        time.sleep(POLL_S)
    if (now := platform_state.read(directory.state)) is not None:
        progress.show(now)
    _clean_up(directory)


def _owner(directory: DataDir) -> PlatformState:
    """Return the state of the supervisor that holds the lock. Wait for the state, because a new supervisor writes it after taking the
    lock."""
    deadline_s = time.monotonic() + 10.0
    while True:
        found = platform_state.read(directory.state)
        if found is not None and found.supervisor.lives:
            return found
        if time.monotonic() > deadline_s:
            raise ConfigError(f"an unknown process holds {directory.lock}: find it with `fuser {directory.lock}` and end it")
        time.sleep(POLL_S)


def _clean_up(directory: DataDir) -> None:
    """End the processes that a killed supervisor left behind."""
    found = platform_state.read(directory.state)
    lock = Lock(directory.lock)
    if found is None or not lock.take():
        return
    try:
        end_leftovers(found, lambda text: say(f"  {text}"))
    finally:
        lock.release()


def _print_drivers(directory: DataDir, found: Sequence[Driver]) -> None:
    if not found:
        return
    say()
    say("Jobs that continue to run:")
    for driver in found:
        say(f"  {driver.run}, process {driver.process}: {driver.command}")
    say(f"These jobs buffer their events. The next `weir up{option(directory)}` finds these jobs.")


@dataclass(frozen=True, slots=True)
class Driver:
    process: int
    run: str
    """The run's directory, relative to the data directory."""
    command: str
    """The beginning of the driver's command line."""


def living_drivers(root: Path) -> list[Driver]:
    """Return the drivers whose run directories are below ``root``. Drivers are not children of the platform and continue when it stops."""
    found: dict[int, tuple[int, Driver]] = {}
    for process in psutil.process_iter():
        try:
            spool = process.environ().get(SPOOL)
            if not spool or not Path(spool).is_relative_to(root) or process.status() == psutil.STATUS_ZOMBIE:
                continue
            run = Path(spool).relative_to(root).parent
            found[process.pid] = (process.ppid(), Driver(process.pid, str(run), " ".join(process.cmdline())[:COMMAND_CHARACTERS]))
        except (psutil.Error, OSError):
            continue  # the process has ended, or belongs to another user
    # Leave out the children of drivers, which inherit the environment variable.
    return [driver for parent, driver in found.values() if parent not in found]
