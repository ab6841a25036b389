"""Two runs that are compared with each other, each the whole machine's for a second at a time, in turns.

What a rented machine gives changes by a third within seconds, so two runs of twenty seconds one after the other differ by more than what
checkpoints cost, whatever that is. Runs that take turns by the second have the same luck. Each has a Spark of its own, and all its
processes, Spark's included, are stopped while it is the other's turn.
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

from bench.measuring import Run, Setting, Steady, Workload, measured_in
from bench.processes import family, go_on, stop
from weir.spark.launch import RunOptions, session_for

TURN_S = 1.0
INTERVAL_MS = 1_050
"""Of checkpoints. What is due while the others have their turn is taken at the beginning of the next one, and the one after that is due when that
has just ended: so there is exactly one for each second of running, and none is under way when a turn ends."""

_WARM, _BEGIN, _BEGUN = "warm", "begin", "begun"


@dataclass(frozen=True, slots=True)
class Turns:
    """A clock that goes only during turns: begin and end of each by ``time.monotonic``, in order."""

    spans: Sequence[tuple[float, float]]

    def __call__(self, moment: float) -> float:
        return sum(min(moment, end) - begin for begin, end in self.spans if begin < moment)


@dataclass(frozen=True, slots=True)
class _Task:
    workload: Workload
    setting: Setting
    directory: Path


class Lane:
    """A process with a Spark session of its own, which measures one job after the other. ``close`` it."""

    def __init__(self, name: str, parallelism: int, directory: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, name, parallelism, directory), name=f"bench {name}")
        self._process.start()
        theirs.close()
        self._family: tuple[int, ...] = ()

    def start(self, task: _Task) -> None:
        self._pipe.send(task)

    def wait_until_warm(self) -> None:
        self._hear()

    def begin_measuring(self) -> None:
        """Its first turn comes next."""
        self._pipe.send(_BEGIN)
        self._hear()
        self._family = family(self._pid)
        self.stop()

    def stop(self) -> None:
        stop(self._family)

    def go_on(self) -> None:
        go_on(self._family)

    def end(self, turns: Turns) -> None:
        self._pipe.send(turns)

    def run(self) -> Run:
        run = self._hear()
        assert isinstance(run, Run)
        return run

    def close(self) -> None:
        self.go_on()
        if self._process.is_alive():
            with contextlib.suppress(OSError):  # It has ended, which is what was wanted.
                self._pipe.send(None)
        self._process.join()

    @property
    def _pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def _hear(self) -> Any:
        try:
            heard = self._pipe.recv()
        except EOFError:
            raise SystemExit(f"{self._process.name} ended: see above") from None
        if isinstance(heard, SystemExit):
            raise heard
        return heard


class Pair:
    """Two lanes, kept from pair to pair: Spark and compiled code are warm after the first."""

    def __init__(self, parallelism: int, directory: Path) -> None:
        self._directory = directory
        self._lanes = (Lane("left", parallelism, directory), Lane("right", parallelism, directory))
        self._pairs = 0

    def measure(self, workload: Workload, settings: tuple[Setting, Setting]) -> tuple[Run, Run]:
        """``settings``: of each; ``seconds`` of both are the same. From pair to pair they change lanes, and who has the first turn: where a process
        happens to lie in memory makes a per cent or two, and the processes of a lane are forks of one."""
        swapped, first = self._pairs % 2 == 1, self._pairs // 2 % 2
        self._pairs += 1
        lanes = self._lanes[::-1] if swapped else self._lanes
        for lane, setting in zip(lanes, settings, strict=True):
            lane.start(_Task(workload, setting, self._directory))
        for lane in lanes:
            lane.wait_until_warm()
        turns: tuple[list[tuple[float, float]], ...] = ([], [])
        try:
            for lane in lanes:
                lane.begin_measuring()
            while sum(end - begin for begin, end in turns[1 - first]) < settings[0].seconds:
                for which in (first, 1 - first):
                    begin = time.monotonic()
                    lanes[which].go_on()
                    time.sleep(TURN_S)
                    lanes[which].stop()
                    turns[which].append((begin, time.monotonic()))
        finally:
            # Soon: who hears nothing of a slot for some seconds takes it for lost.
            for lane in lanes:
                lane.go_on()
        for lane, taken in zip(lanes, turns, strict=True):
            lane.end(Turns(taken))
        without, with_ = (lane.run() for lane in lanes)
        return without, with_

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()


def _serve(pipe: Connection, name: str, parallelism: int, directory: Path) -> None:
    """In the lane's process."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR))
    session = session_for(RunOptions(checkpoint_dir=str(directory), parallelism=parallelism), f"bench {name} {os.getpid()}")
    try:
        while isinstance(task := pipe.recv(), _Task):
            with measured_in(task.directory) as where:
                steady = Steady(task.workload, task.setting, session, where)
                pipe.send(_WARM)
                _look_until_told(steady, pipe)
                pipe.recv()
                steady.begin()
                pipe.send(_BEGUN)
                _look_until_told(steady, pipe)
                pipe.send(steady.end(pipe.recv()))
    except SystemExit as failure:
        pipe.send(failure)
    except EOFError:
        pass  # Who asked is gone.
    finally:
        session.close()


def _look_until_told(steady: Steady, pipe: Connection) -> None:
    while not pipe.poll():
        steady.look()
