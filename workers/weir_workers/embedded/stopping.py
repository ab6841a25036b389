"""``weir down``: the supervisor is asked to stop the platform, and watched until it has."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import TextIO

from weir.cli.output import print_json
from weir.errors import ConfigError
from weir_workers.embedded import drivers, state
from weir_workers.embedded.drivers import Driver
from weir_workers.embedded.layout import DataDir
from weir_workers.embedded.leftovers import end_leftovers
from weir_workers.embedded.lock import Lock, is_held
from weir_workers.embedded.state import PlatformState
from weir_workers.embedded.telling import Progress, option, say

LOOK_EVERY_S = 0.05
STOP_S_MAX = 150.0
"""Longer than all that a supervisor waits for its children."""


def down(directory: DataDir, answer: TextIO | None) -> None:
    """``answer``: where it is said as JSON what has been stopped and what goes on; None: people are told. Raises ConfigError."""
    ran = is_held(directory.lock)
    if not ran:
        _clean_up(directory)
        say(f"Weir is not running in {directory.root}.")
    else:
        say(f"Stopping Weir in {directory.root}")
        _stop(directory)
        say("Weir is down.")
    left = drivers.living(directory.root)
    _tell_of_drivers(directory, left)
    if answer is not None:
        on = [{"pid": driver.process, "run": driver.run, "command": driver.command} for driver in left]
        print_json({"data_dir": str(directory.root), "was_running": ran, "drivers": on}, answer)


def _stop(directory: DataDir) -> None:
    found = _owner(directory)
    found.supervisor.signal(signal.SIGTERM)
    progress = Progress(ends=True)
    deadline_s = time.monotonic() + STOP_S_MAX
    # It lets go of the lock a moment before it has ended itself.
    while is_held(directory.lock) or found.supervisor.lives:
        if (now := state.read(directory.state)) is not None:
            progress.show(now)
        if time.monotonic() > deadline_s:
            say("  the supervisor does not stop, and is killed")
            found.supervisor.signal(signal.SIGKILL)
            deadline_s = time.monotonic() + STOP_S_MAX
        time.sleep(LOOK_EVERY_S)
    if (now := state.read(directory.state)) is not None:
        progress.show(now)
    _clean_up(directory)


def _owner(directory: DataDir) -> PlatformState:
    """Who has just taken the lock has not written its state yet."""
    deadline_s = time.monotonic() + 10.0
    while True:
        found = state.read(directory.state)
        if found is not None and found.supervisor.lives:
            return found
        if time.monotonic() > deadline_s:
            raise ConfigError(
                f"{directory.lock} is held by a process that does not say who it is: find it with `fuser {directory.lock}` and end it"
            )
        time.sleep(LOOK_EVERY_S)


def _clean_up(directory: DataDir) -> None:
    """What a supervisor that was killed has left, where its children do not end by themselves."""
    found = state.read(directory.state)
    lock = Lock(directory.lock)
    if found is None or not lock.take():
        return
    try:
        end_leftovers(found, lambda text: say(f"  {text}"))
    finally:
        lock.give_back()


def _tell_of_drivers(directory: DataDir, found: Sequence[Driver]) -> None:
    if not found:
        return
    say()
    say("Jobs that go on without it:")
    for driver in found:
        say(f"  {driver.run}, process {driver.process}: {driver.command}")
    say(f"They keep what they have to tell, and the next `weir up{option(directory)}` finds them again.")
