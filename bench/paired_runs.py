"""Paired runs: two runs that are compared with each other and take turns of one second, each with the whole machine.

The speed of a rented machine changes by a third within seconds. The speeds of two consecutive runs of twenty seconds can
therefore differ by more than the cost of checkpoints. If two runs take turns of one second, changes of the machine's speed affect
both runs equally. Each run has its own Spark session. During the turn of one run, all processes of the other run are stopped,
including those of Spark.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from logging import ERROR
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import structlog

from bench.measured_run import MeasuredJob, RunMeasurement, RunSettings, Workload, temporary_checkpoint_dir
from bench.process_control import pause, process_tree, resume
from weir.spark.launch import RunOptions, session_for

TURN_S = 1.0
INTERVAL_MS = 1_050
"""The checkpoint interval of the run with checkpoints. If a checkpoint is due during a turn of the other run, the checkpoint is
taken at the beginning of the next turn. The next checkpoint is due just after the end of this turn. With this interval, each turn
has exactly one checkpoint, and no checkpoint is in progress at the end of a turn."""

_WARM, _BEGIN, _BEGUN = "warm", "begin", "begun"


@dataclass(frozen=True, slots=True)
class TurnClock:
    """A clock that advances only during turns. ``spans``: begin and end of each turn by ``time.monotonic``, in order."""

    spans: Sequence[tuple[float, float]]

    def __call__(self, moment: float) -> float:
        return sum(min(moment, end) - begin for begin, end in self.spans if begin < moment)


@dataclass(frozen=True, slots=True)
class _RunRequest:
    workload: Workload
    setting: RunSettings
    directory: Path


class BenchProcess:
    """A process that has its own Spark session and measures one job after another. The caller calls ``close`` at the end."""

    def __init__(self, name: str, parallelism: int, directory: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, name, parallelism, directory), name=f"bench {name}")
        self._process.start()
        theirs.close()
        self._process_tree: tuple[int, ...] = ()

    def start(self, request: _RunRequest) -> None:
        self._pipe.send(request)

    def wait_until_warm(self) -> None:
        self._receive()

    def begin_measuring(self) -> None:
        """Start the measured time. The process is paused until its first turn."""
        self._pipe.send(_BEGIN)
        self._receive()
        self._process_tree = process_tree(self._pid)
        self.pause()

    def pause(self) -> None:
        pause(self._process_tree)

    def resume(self) -> None:
        resume(self._process_tree)

    def finish(self, turns: TurnClock) -> None:
        self._pipe.send(turns)

    def run(self) -> RunMeasurement:
        run = self._receive()
        assert isinstance(run, RunMeasurement)
        return run

    def close(self) -> None:
        self.resume()
        if self._process.is_alive():
            with contextlib.suppress(OSError):  # The process has already ended.
                self._pipe.send(None)
        self._process.join()

    @property
    def _pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def _receive(self) -> Any:
        try:
            message = self._pipe.recv()
        except EOFError:
            raise SystemExit(f"{self._process.name} ended. See its error above.") from None
        if isinstance(message, SystemExit):
            raise message
        return message


class PairedRunner:
    """Two benchmark processes, reused for all pairs, so that Spark and compiled code are warm after the first pair."""

    def __init__(self, parallelism: int, directory: Path) -> None:
        self._directory = directory
        self._processes = (BenchProcess("left", parallelism, directory), BenchProcess("right", parallelism, directory))
        self._pair_count = 0

    def measure(
        self, left: tuple[Workload, RunSettings], right: tuple[Workload, RunSettings]
    ) -> tuple[RunMeasurement, RunMeasurement]:
        """Measure two runs. Both settings must have the same ``seconds``.

        After each pair, the two runs swap their processes, because the memory layout of a process changes its speed by one
        or two per cent. All slots of one benchmark process have the same memory layout, because they are forks of the same
        daemon. After every two pairs, the two runs swap the order of their turns.
        """
        swapped, first = self._pair_count % 2 == 1, self._pair_count // 2 % 2
        self._pair_count += 1
        processes = self._processes[::-1] if swapped else self._processes
        for process, (workload, setting) in zip(processes, (left, right), strict=True):
            process.start(_RunRequest(workload, setting, self._directory))
        for process in processes:
            process.wait_until_warm()
        turns: tuple[list[tuple[float, float]], ...] = ([], [])
        try:
            for process in processes:
                process.begin_measuring()
            while sum(end - begin for begin, end in turns[1 - first]) < left[1].seconds:
                for which in (first, 1 - first):
                    begin = time.monotonic()
                    processes[which].resume()
                    time.sleep(TURN_S)
                    processes[which].pause()
                    turns[which].append((begin, time.monotonic()))
        finally:
            # Resume the processes immediately, because a coordinator that receives no message from a slot for some seconds
            # declares the slot lost.
            for process in processes:
                process.resume()
        for process, spans in zip(processes, turns, strict=True):
            process.finish(TurnClock(spans))
        first_run, second_run = (process.run() for process in processes)
        return first_run, second_run

    def close(self) -> None:
        for process in self._processes:
            process.close()


def _serve(pipe: Connection, name: str, parallelism: int, directory: Path) -> None:
    """Run the benchmark process: measure one requested run after another."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR))
    session = session_for(RunOptions(checkpoint_dir=str(directory), parallelism=parallelism), f"bench {name} {os.getpid()}")
    try:
        while isinstance(request := pipe.recv(), _RunRequest):
            with temporary_checkpoint_dir(request.directory) as run_directory:
                job = MeasuredJob(request.workload, request.setting, session, run_directory)
                pipe.send(_WARM)
                _poll_until_message(job, pipe)
                pipe.recv()
                job.begin()
                pipe.send(_BEGUN)
                _poll_until_message(job, pipe)
                pipe.send(job.finish(pipe.recv()))
    except SystemExit as failure:
        pipe.send(failure)
    except EOFError:
        pass  # The parent process is gone.
    finally:
        session.close()


def _poll_until_message(job: MeasuredJob, pipe: Connection) -> None:
    while not pipe.poll():
        job.poll()
