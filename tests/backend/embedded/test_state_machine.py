"""The decisions of the supervisor, without a process and without a clock."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from weir_workers.embedded.supervisor.state_machine import (
    DELAY_S_FIRST,
    DELAY_S_MAX,
    STEADY_S,
    Child,
    Effect,
    KillChild,
    StartChild,
    State,
    StopChild,
    Supervision,
)

CHILDREN = [
    Child("data"),
    Child("queue"),
    Child("schema", ("data",), once=True),
    Child("api", ("data", "queue", "schema"), start_s_max=60.0, stop_s_max=5.0),
    Child("beat", ("queue", "schema")),
]


def begun(children: Sequence[Child] = CHILDREN, now_s: float = 0.0) -> Supervision:
    """Return a supervision whose children are all ready."""
    supervision = Supervision(children)
    while not supervision.all_ready:
        for effect in supervision.due(now_s):
            assert isinstance(effect, StartChild)
            if any(child.once and child.name == effect.name for child in children):
                supervision.ended(effect.name, now_s, "ended with exit code 0", success=True)
            else:
                supervision.became_ready(effect.name, now_s)
    return supervision


def test_a_child_starts_when_everything_it_needs_is_ready() -> None:
    supervision = Supervision(CHILDREN)
    assert supervision.due(0) == [StartChild("data"), StartChild("queue")]
    assert supervision.due(1) == [], "once"
    supervision.became_ready("queue", 1)
    assert supervision.due(1) == []
    supervision.became_ready("data", 2)
    assert supervision.due(2) == [StartChild("schema")]
    supervision.ended("schema", 5, "ended with exit code 0", success=True)
    assert supervision.status["schema"].started_after_s == 3
    assert supervision.due(5) == [StartChild("api"), StartChild("beat")]
    assert not supervision.all_ready
    supervision.became_ready("api", 6)
    supervision.became_ready("beat", 6)
    assert supervision.all_ready


def test_a_dead_child_restarts_with_a_delay_that_grows_to_ten_seconds() -> None:
    supervision, now_s, delays = begun(), 0.0, []
    for _ in range(200):
        supervision.ended("api", now_s, "ended by SIGKILL", success=False)
        died_s = now_s
        while not (effects := supervision.due(now_s)):
            now_s += 0.25
        assert effects == [StartChild("api")]
        delays.append(now_s - died_s)
    assert delays[:6] == [DELAY_S_FIRST, 1.0, 2.0, 4.0, 8.0, DELAY_S_MAX]
    assert set(delays[5:]) == {DELAY_S_MAX}
    assert supervision.status["api"].restarts == 200
    assert supervision.status["api"].problem == "ended by SIGKILL"


def test_a_child_that_was_ready_for_a_while_restarts_with_the_first_delay() -> None:
    supervision = begun()
    for _ in range(5):
        supervision.ended("api", 0, "ended by SIGKILL", success=False)
        supervision.due(DELAY_S_MAX)
    supervision.became_ready("api", 10)
    supervision.ended("api", 10 + STEADY_S, "ended by SIGKILL", success=False)
    assert supervision.status["api"].failures == 1
    assert supervision.due(10 + STEADY_S + DELAY_S_FIRST) == [StartChild("api")]


def test_a_service_that_exits_with_success_is_restarted() -> None:
    supervision = begun()
    supervision.ended("beat", 1, "ended with exit code 0", success=True)
    assert supervision.due(1 + DELAY_S_FIRST) == [StartChild("beat")]


def test_running_children_continue_while_a_dependency_restarts_but_none_starts() -> None:
    supervision = begun()
    supervision.ended("data", 1, "ended by SIGKILL", success=False)
    assert supervision.status["api"].state is State.READY, "it reconnects without a restart"
    supervision.ended("api", 1, "ended by SIGKILL", success=False)
    assert supervision.due(60) == [StartChild("data")]
    supervision.became_ready("data", 61)
    assert supervision.due(61) == [StartChild("api")], "the schema process does not run again"


def test_a_failed_one_time_child_is_retried() -> None:
    supervision = Supervision(CHILDREN)
    supervision.due(0)
    supervision.became_ready("data", 0)
    assert supervision.due(0) == [StartChild("schema")]
    supervision.ended("schema", 1, "ended with exit code 1", success=False)
    assert supervision.due(1) == []
    assert supervision.due(1 + DELAY_S_FIRST) == [StartChild("schema")]


def test_a_child_that_does_not_become_ready_is_killed_once_and_restarted() -> None:
    supervision = begun()
    supervision.ended("api", 0, "ended by SIGKILL", success=False)
    supervision.due(1)
    assert supervision.due(60) == []
    assert supervision.due(61) == [KillChild("api", "not ready after 60 s")]
    assert supervision.due(62) == []
    supervision.ended("api", 62, "ended by SIGKILL", success=False)
    assert supervision.due(63) == [StartChild("api")]


def test_a_slow_child_gets_twice_the_time_at_each_restart_up_to_eight_times() -> None:
    supervision = Supervision([Child("api", start_s_max=60.0)])
    now_s, limits = 0.0, []
    for _ in range(6):
        while supervision.status["api"].state is not State.STARTING:
            supervision.due(now_s)
            now_s += 1
        began_s = supervision.status["api"].since_s
        while not (effects := supervision.due(now_s)):
            now_s += 1
        assert effects == [KillChild("api", f"not ready after {now_s - began_s:.0f} s")]
        limits.append(now_s - began_s)
        supervision.ended("api", now_s, "was killed", success=False)
    assert limits == [60, 120, 240, 480, 480, 480]
    supervision.due(now_s + DELAY_S_MAX)
    supervision.became_ready("api", now_s + DELAY_S_MAX)
    assert supervision.status["api"].slow == 0, "the next restart has the first delay"


def test_slow_children_are_restarted_one_at_a_time() -> None:
    names = ("api", "worker", "compiler")
    supervision = Supervision([Child(name, start_s_max=60.0) for name in names])
    assert supervision.due(0) == [StartChild(name) for name in names]
    assert supervision.due(60) == [KillChild(name, "not ready after 60 s") for name in names]
    for name in names:
        supervision.ended(name, 60, "killed: not ready after 60 s", success=False)
    assert supervision.due(70) == [StartChild("api")]
    assert supervision.due(100) == []
    supervision.became_ready("api", 110)
    assert supervision.due(110) == [StartChild("worker")]
    supervision.ended("worker", 111, "ended with exit code 1", success=False)
    assert supervision.due(111) == [StartChild("compiler")], "a waiting child blocks no other"
    supervision.became_ready("compiler", 120)
    assert supervision.due(130) == [StartChild("worker")]


def test_a_recovering_database_is_not_killed() -> None:
    supervision = Supervision(CHILDREN)
    supervision.due(0)
    assert supervision.due(1e6) == []


def test_a_start_that_fails_is_retried() -> None:
    supervision = Supervision(CHILDREN)
    supervision.due(0)
    supervision.did_not_start("data", 0, "cannot start: no memory")
    assert supervision.status["data"].problem == "cannot start: no memory"
    assert supervision.due(DELAY_S_FIRST) == [StartChild("data")]


def test_children_stop_after_those_that_need_them() -> None:
    supervision = begun()
    supervision.stop(0)
    assert supervision.due(0) == [StopChild("beat"), StopChild("api")]
    supervision.ended("beat", 0, "", success=True)
    assert supervision.due(0) == [], "the API still needs both servers"
    supervision.ended("api", 1, "", success=True)
    assert supervision.due(1) == [StopChild("queue"), StopChild("data")]
    supervision.ended("queue", 2, "", success=True)
    assert not supervision.over
    supervision.ended("data", 2, "", success=True)
    supervision.due(2)
    assert supervision.over


def test_a_child_that_does_not_stop_is_killed() -> None:
    supervision = begun()
    supervision.stop(0)
    supervision.due(0)
    assert supervision.due(4.9) == []
    assert supervision.due(5) == [KillChild("api", "not ended 5 s after the stop signal")]
    assert supervision.due(6) == []


def test_a_child_that_waits_for_its_restart_stops_at_once() -> None:
    supervision = begun()
    supervision.ended("api", 0, "ended by SIGKILL", success=False)
    supervision.stop(0)
    assert supervision.due(60) == [StopChild("beat"), StopChild("data")], "no running child needs the database"
    assert supervision.status["api"].state is State.STOPPED


def test_a_child_must_not_need_a_later_one() -> None:
    with pytest.raises(AssertionError, match="api needs a later child"):
        Supervision([Child("api", ("data",)), Child("data")])


@pytest.mark.parametrize("seed", range(300))
def test_random_histories_respect_dependencies_and_can_be_stopped(seed: int) -> None:
    luck, world = random.Random(seed), World()
    for _ in range(luck.randrange(200)):
        world.step(luck)
    world.supervision.stop(world.now_s)
    for _ in range(500):
        if world.supervision.over:
            break
        world.step(luck)
    assert world.supervision.over and not world.running


class World:
    """Processes that randomly start, become ready, fail and die, and obey or ignore signals."""

    def __init__(self) -> None:
        self.supervision = Supervision(CHILDREN)
        self.needs = {child.name: child.needs for child in CHILDREN}
        self.once = {child.name for child in CHILDREN if child.once}
        self.running: set[str] = set()
        self.asked: set[str] = set()
        self.doomed: set[str] = set()
        self.now_s = 0.0

    def step(self, luck: random.Random) -> None:
        self.now_s += luck.choice([0.0, 0.1, 1.0, 30.0])
        for effect in self.supervision.due(self.now_s):
            self.carry_out(effect, luck)
        for name in sorted(self.running):
            if name in self.doomed or (name in self.asked and luck.random() < 0.5) or luck.random() < 0.1:
                self.end(name, success=luck.random() < 0.5)
            elif self.supervision.status[name].state is State.STARTING and luck.random() < 0.5:
                if name in self.once:
                    self.end(name, success=True)
                else:
                    self.supervision.became_ready(name, self.now_s)

    def carry_out(self, effect: Effect, luck: random.Random) -> None:
        match effect:
            case StartChild(name):
                assert not self.supervision.stopping
                assert name not in self.running
                assert all(self.supervision.status[one].state in (State.READY, State.DONE) for one in self.needs[name])
                if luck.random() < 0.1:
                    self.supervision.did_not_start(name, self.now_s, "no memory")
                else:
                    self.running.add(name)
            case StopChild(name):
                assert self.supervision.stopping and name in self.running
                assert not any(name in self.needs[other] for other in self.running), "children that need it have ended before"
                self.asked.add(name)
            case KillChild(name):
                assert name in self.running
                self.doomed.add(name)

    def end(self, name: str, *, success: bool) -> None:
        for names in (self.running, self.asked, self.doomed):
            names.discard(name)
        self.supervision.ended(name, self.now_s, "ended", success=success)
