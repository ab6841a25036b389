"""The supervisor process of a platform: ``python -m weir_workers.embedded.supervisor.process DIR``.

The supervisor has one thread, because a child ends with the thread that started it. ``state_machine.py`` makes the decisions, and
this module carries them out. SIGTERM or SIGINT stops the platform. Exit codes: 0 stopped, 2 no process was started, 3 another
supervisor has the lock.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType

import structlog

from weir.errors import ConfigError
from weir_backend.kit import logs
from weir_workers.embedded.constants import NOTHING_STARTED, OWNED, STOPPED, SUPERVISOR, weir_version
from weir_workers.embedded.data_dir import platform_state
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.logs import rotate
from weir_workers.embedded.data_dir.platform_state import ChildState, Phase, PlatformState, Ports
from weir_workers.embedded.ports import holder, is_taken
from weir_workers.embedded.processes import ProcessId, process_id
from weir_workers.embedded.supervisor.services import Service, end_leftovers
from weir_workers.embedded.supervisor.startup import Prepared, prepare
from weir_workers.embedded.supervisor.state_machine import RUNS, ChildEffect, KillChild, StartChild, State, StopChild, Supervision
from weir_workers.file_lock import Lock

log = structlog.get_logger("weir.supervisor")
PROBE_EVERY_S = 0.05
MOVES_MAX = 5
"""Maximum number of times that a starting platform chooses other ports because another program uses one of its ports."""
IDLE_S = 1.0
LOGS_EVERY_S = 5.0
_LOCK_S = 1.0
"""The maximum wait for the lock. Other processes hold the lock for a moment when they check it."""

StateListener = Callable[[PlatformState], None]
PrepareChildren = Callable[[DataDir, Mapping[str, str], PlatformState | None], Prepared]


class Supervisor:
    """Runs the processes of a platform. The caller holds the lock of ``directory``. ``on_state`` is called with the state in every turn of
    the loop. Tests replace ``prepare``."""

    def __init__(
        self,
        directory: DataDir,
        environment: Mapping[str, str],
        on_state: StateListener = lambda _: None,
        *,
        prepare: PrepareChildren = prepare,
    ) -> None:
        self._directory = directory
        self._environment = environment
        self._on_state = on_state
        self._prepare = prepare
        self._stop_reason = ""
        self._began = process_id(os.getpid())
        self._prepared = Prepared([], Ports(), "", {}, [])
        self._services: dict[str, Service] = {}
        self._supervision = Supervision([])
        self._processes: dict[str, tuple[subprocess.Popen[bytes], ProcessId]] = {}
        self._why_killed: dict[str, str] = {}
        self._was_up = False
        self._moving = False
        """True if another program uses one of the ports. The supervisor must then stop all processes, and start them again with
        other ports."""
        self._moves = 0
        self._written: PlatformState | None = None
        self._logs_at_s = 0.0
        self._awake, self._wake = os.pipe()
        for descriptor in (self._awake, self._wake):
            os.set_blocking(descriptor, False)

    def run(self) -> int:
        """Run until stopped. Returns an exit code."""
        with self._signals():
            before = platform_state.read(self._directory.state)
            # Keep the ports and the external servers of the previous state. Even after a failed start, the next supervisor must know
            # which database the platform uses.
            known = PlatformState(
                weir_version(),
                self._began,
                Phase.STARTING,
                ports=before.ports if before else Ports(),
                external=before.external if before else {},
            )
            self._write(known)
            log.info("supervisor started", directory=str(self._directory.root), pid=self._began.number)
            try:
                if before is not None:
                    end_leftovers(before, log.warning)
                self._bring_up(before)
                while self._moving and not self._stop_reason:
                    self._moving = False
                    self._bring_up(self._state())
            except (ConfigError, OSError) as error:
                log.error("nothing was started", problem=str(error))
                self._write(replace(known, phase=Phase.FAILED, problem=str(error)))
                return NOTHING_STARTED
            log.info("supervisor stopped", reason=self._stop_reason)
            return STOPPED

    def _bring_up(self, before: PlatformState | None) -> None:
        """Start the processes and run until all are stopped. Raises ConfigError or OSError if the preparation fails."""
        self._prepared = self._prepare(self._directory, self._environment, before)
        for note in self._prepared.notes:
            log.warning(note)
        self._services = {service.child.name: service for service in self._prepared.services}
        self._supervision = Supervision([service.child for service in self._prepared.services])
        self._loop()

    def _loop(self) -> None:
        while not self._supervision.over:
            self._reap()
            if (self._stop_reason or self._moving) and not self._supervision.stopping:
                log.info("stopping", reason=self._stop_reason or "another program uses one of the ports; choosing other ports")
                self._supervision.stop()
            self._probe()
            for effect in self._supervision.due(time.monotonic()):
                self._carry_out(effect)
            if self._supervision.all_ready and not self._was_up:
                self._was_up = True
                log.info("platform is up", url=self._prepared.url)
            self._write(self._state())
            if time.monotonic() >= self._logs_at_s:
                rotate(self._directory.log_of(name) for name in (*self._services, SUPERVISOR))
                self._logs_at_s = time.monotonic() + LOGS_EVERY_S
            self._wait()

    # ---- observations -------------------------------------------------------------------------

    def _reap(self) -> None:
        for name, (process, _) in list(self._processes.items()):
            code = process.poll()
            if code is None:
                continue
            del self._processes[name]
            how = _description(code, self._why_killed.pop(name, None))
            before = self._supervision.status[name].state
            expected = before is State.STOPPING
            if before is State.STARTING and (port := self._services[name].port) is not None and is_taken(port):
                how += f": port {port} is held by {holder(port)}"
                # After this supervisor has started the platform, it does not change the ports, because running drivers use the URL
                # of the API.
                if not self._was_up and self._moves < MOVES_MAX:
                    self._moving = True
                    self._moves += 1
            self._supervision.ended(name, time.monotonic(), how, success=code == 0)
            status = self._supervision.status[name]
            if expected or status.state is State.DONE:
                log.info("process ended", process=name, how=how)
            else:
                log.warning("process died; restarting it", process=name, how=how, restarts=status.restarts)

    def _probe(self) -> None:
        for name, (process, _) in self._processes.items():
            status = self._supervision.status[name]
            # Check that the process is still alive, because the answer can come from another program at the same port.
            if status.state is State.STARTING and self._services[name].ready(process) and process.poll() is None:
                self._supervision.became_ready(name, time.monotonic())
                log.info("process ready", process=name, after_s=round(status.started_after_s or 0.0, 2))

    def _carry_out(self, effect: ChildEffect) -> None:
        match effect:
            case StartChild(name):
                try:
                    process = self._services[name].start()
                except (OSError, subprocess.SubprocessError) as error:
                    log.error("cannot start process", process=name, problem=str(error))
                    self._supervision.did_not_start(name, time.monotonic(), f"cannot start: {error}")
                else:
                    self._processes[name] = (process, process_id(process.pid))
                    log.info("process started", process=name, pid=process.pid)
            case StopChild(name):
                self._processes[name][0].send_signal(self._services[name].stop_signal)
            case KillChild(name, why):
                log.warning("killing process", process=name, why=why)
                self._why_killed[name] = why
                self._processes[name][0].kill()

    # ---- published state -------------------------------------------------------------------------

    def _state(self) -> PlatformState:
        children = {}
        for name, status in self._supervision.status.items():
            process = self._processes[name][1] if name in self._processes else None
            after_s = round(status.started_after_s, 2) if status.started_after_s is not None else None
            children[name] = ChildState(status.state, process, after_s, status.restarts, status.failures, status.problem)
        if self._moving and not self._stop_reason:
            phase = Phase.STARTING
        elif self._supervision.stopping:
            phase = Phase.DOWN if self._supervision.over else Phase.STOPPING
        else:
            phase = Phase.UP if self._was_up else Phase.STARTING
        found = self._prepared
        return PlatformState(
            weir_version(), self._began, phase, found.ports, found.url, children, found.external, tuple(found.notes)
        )

    def _write(self, found: PlatformState) -> None:
        if found != self._written:
            try:
                platform_state.write(self._directory.state, found)
            except OSError as error:
                # The write can fail, for example because the disk is full. The platform continues, and other commands read an
                # older state.
                log.error("cannot write the platform state", problem=str(error))
            else:
                self._written = found
        self._on_state(found)

    # ---- waiting -------------------------------------------------------------------------------

    def _wait(self) -> None:
        starting = any(status.state is State.STARTING for status in self._supervision.status.values())
        waiting = any(
            status.state is State.WAITING or (status.state in RUNS and self._supervision.stopping)
            for status in self._supervision.status.values()
        )
        timeout_s = PROBE_EVERY_S if starting else 4 * PROBE_EVERY_S if waiting else IDLE_S
        if not self._supervision.over:
            select.select([self._awake], [], [], timeout_s)
            with contextlib.suppress(BlockingIOError):
                os.read(self._awake, 4096)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(number: int, _: FrameType | None) -> None:
            self._stop_reason = signal.Signals(number).name

        handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {
            signal.SIGTERM: stop,
            signal.SIGINT: stop,
            # SIGHUP: the terminal was closed. To ignore the signal, use an empty handler instead of SIG_IGN, because children would
            # inherit SIG_IGN.
            signal.SIGHUP: stop if sys.stdin is not None and sys.stdin.isatty() else lambda *_: None,
            # This handler only wakes the loop.
            signal.SIGCHLD: lambda *_: None,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        wake_before = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wake_before)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._awake)
            os.close(self._wake)


def _description(code: int, why_killed: str | None) -> str:
    """Describe how a process ended. ``why_killed`` is the reason why the supervisor killed the process, or None if the supervisor did not
    kill it."""
    if why_killed is not None:
        return f"killed: {why_killed}"
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def supervise(directory: DataDir, environment: Mapping[str, str], on_state: StateListener = lambda _: None) -> int:
    """Run the platform in the directory until it is stopped. Returns an exit code."""
    lock = Lock(directory.lock)
    if not lock.take(_LOCK_S):
        return OWNED
    try:
        return Supervisor(directory, environment, on_state).run()
    finally:
        lock.release()


def main(arguments: list[str]) -> int:
    (given,) = arguments
    logs.configure()
    return supervise(DataDir(Path(given)), dict(os.environ))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
