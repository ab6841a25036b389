"""Two coordinators work on the same output directory. A seed determines how the file system operations of the coordinators are
interleaved."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.unit.connectors.files.output_harness import FragileFileSystem, Output, Permit, QuickFileSystem
from tests.unit.connectors.files.test_output_fencing import Committables, five_checkpoints, roll_back

from weir.errors import SinkError, Superseded
from weir.protocol.ids import CheckpointId, Generation

STEPS = (*FragileFileSystem.CHANGING, "exists", "list", "size", "same_file")


class Scheduler:
    """Runs one thread at a time. Before each file system operation, the scheduler may switch to another thread."""

    def __init__(self, rng: random.Random, *names: str) -> None:
        self._rng = rng
        self._switches = rng.choice([0.1, 0.3, 0.6])
        self._changed = threading.Condition()
        self._running = list(names)
        self._turn: str | None = names[0]

    def step(self, name: str) -> None:
        with self._changed:
            if self._rng.random() < self._switches:
                self._switch()
            self._changed.wait_for(lambda: self._turn == name)

    def end(self, name: str) -> None:
        with self._changed:
            self._running.remove(name)
            self._switch()

    def _switch(self) -> None:
        self._turn = self._rng.choice(self._running) if self._running else None
        self._changed.notify_all()


class InterleavedFileSystem(QuickFileSystem):
    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.scheduler = scheduler
        self.name = name

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in STEPS:
            return method

        def step(*arguments: Any) -> Any:
            self.scheduler.step(self.name)
            return method(*arguments)

        return step


def prepare(output: Output, committables: Committables, *, to: int, generation: int) -> None:
    """Revoke, reinstate, recommit and abort output, like the coordinator before a start."""
    abandoned = [one for checkpoint in committables if checkpoint > to for one in committables[checkpoint]]
    output.revoke(abandoned, to=to, generation=generation)
    output.reinstate(to=to, generation=generation)
    for checkpoint in range(1, to + 1):
        output.committer.commit(Permit(CheckpointId(checkpoint), Generation(generation)), committables[checkpoint])
    output.abort_after(to, before_generation=generation)


def commit_the_newest(output: Output, committables: Committables) -> None:
    output.commit(committables[5])


@pytest.mark.parametrize("seed", range(300))
def test_the_output_of_the_newer_coordinator_is_published_and_no_output_is_lost(seed: int) -> None:
    rng = random.Random(seed)
    with TemporaryDirectory() as directory:
        output = Output(os.path.join(directory, "out"))
        committables = five_checkpoints(output)
        if rng.random() < 0.7:
            roll_back(output, committables, to=rng.randint(0, 4), generation=2)
            older_target = rng.randint(0, 5)
            older: Callable[[Output, Committables], None] = partial(prepare, to=older_target, generation=3)
        else:
            older = commit_the_newest
        newer_target = rng.randint(0, 5)
        scheduler, failures = Scheduler(rng, "older", "newer"), dict[str, BaseException]()

        def run(name: str, work: Callable[[Output, Committables], None]) -> None:
            try:
                work(Output(output.out, InterleavedFileSystem(scheduler, name)), committables)
            except BaseException as error:  # noqa: BLE001  # asserted below, on the thread of the test
                failures[name] = error
            finally:
                scheduler.end(name)

        newer = partial(prepare, to=newer_target, generation=4)
        threads = [threading.Thread(target=run, args=one) for one in (("older", older), ("newer", newer))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert "newer" not in failures, failures
        assert isinstance(failures.get("older", Superseded()), (Superseded, SinkError)), failures
        assert output.visible() == list(range(1, newer_target + 1))
        prepare(output, committables, to=5, generation=5)
        assert output.visible() == [1, 2, 3, 4, 5]
