"""Two coordinators over one output directory, switched between at random before any look and any change, as the seed says."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.unit.connectors.output_harness import FragileDisk, Output, Permit, QuickDisk
from tests.unit.connectors.test_output_fencing import History, five_checkpoints, go_back

from weir.errors import SinkError, Superseded
from weir.protocol.ids import CheckpointId, Generation

STEPS = (*FragileDisk.CHANGING, "exists", "list", "size", "same_file")


class Turns:
    """One of the threads runs at any time; before each step of its disk it may be another one's turn."""

    def __init__(self, luck: random.Random, *names: str) -> None:
        self._luck = luck
        self._switches = luck.choice([0.1, 0.3, 0.6])
        self._changed = threading.Condition()
        self._live = list(names)
        self._turn: str | None = names[0]

    def step(self, name: str) -> None:
        with self._changed:
            if self._luck.random() < self._switches:
                self._hand_on()
            self._changed.wait_for(lambda: self._turn == name)

    def leave(self, name: str) -> None:
        with self._changed:
            self._live.remove(name)
            self._hand_on()

    def _hand_on(self) -> None:
        self._turn = self._luck.choice(self._live) if self._live else None
        self._changed.notify_all()


class SwitchingDisk(QuickDisk):
    def __init__(self, turns: Turns, name: str) -> None:
        self.turns = turns
        self.name = name

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in STEPS:
            return method

        def step(*arguments: Any) -> Any:
            self.turns.step(self.name)
            return method(*arguments)

        return step


def prepare(output: Output, history: History, *, to: int, generation: int) -> None:
    """As the coordinator does it: commit again, take back, give back, sweep."""
    for checkpoint in range(1, to + 1):
        output.committer.commit(Permit(CheckpointId(to), Generation(generation)), history[checkpoint])
    left = [one for checkpoint in history if checkpoint > to for one in history[checkpoint]]
    output.take_back(left, to=to, generation=generation)
    output.give_back(to=to, generation=generation)
    output.abort_after(to, before_generation=generation)


def commit_the_newest(output: Output, history: History) -> None:
    output.commit(history[5])


@pytest.mark.parametrize("seed", range(300))
def test_the_newer_one_has_its_way_and_nothing_is_lost(seed: int) -> None:
    luck = random.Random(seed)
    with TemporaryDirectory() as directory:
        output = Output(os.path.join(directory, "out"))
        history = five_checkpoints(output)
        if luck.random() < 0.7:
            go_back(output, history, to=luck.randint(0, 4), generation=2)
            older_goes = luck.randint(0, 5)
            older: Callable[[Output, History], None] = partial(prepare, to=older_goes, generation=3)
        else:
            older = commit_the_newest
        newer_goes = luck.randint(0, 5)
        turns, failures = Turns(luck, "older", "newer"), dict[str, BaseException]()

        def run(name: str, work: Callable[[Output, History], None]) -> None:
            try:
                work(Output(output.out, SwitchingDisk(turns, name)), history)
            except BaseException as error:  # noqa: BLE001  # judged below, on the test's own thread
                failures[name] = error
            finally:
                turns.leave(name)

        newer = partial(prepare, to=newer_goes, generation=4)
        threads = [threading.Thread(target=run, args=one) for one in (("older", older), ("newer", newer))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert "newer" not in failures, failures
        assert isinstance(failures.get("older", Superseded()), (Superseded, SinkError)), failures
        assert output.visible() == list(range(1, newer_goes + 1))
        prepare(output, history, to=5, generation=5)
        assert output.visible() == [1, 2, 3, 4, 5]
