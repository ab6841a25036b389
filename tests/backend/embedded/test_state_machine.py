"""The decisions of the supervisor, tested without processes and without a clock."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from weir_workers.embedded.supervisor.state_machine import (
    DELAY_S_FIRST,
    DELAY_S_MAX,
    STEADY_S,
    Child,
    ChildEffect,
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


def all_ready(children: Sequence[Child] = CHILDREN, now_s: float = 0.0) -> Supervision:
    """Return the state of a supervisor whose children are all ready."""
    supervision = Supervision(children)
    while not supervision.all_ready:
        for effect in supervision.due(now_s):
            assert isinstance(effect, StartChild)
            if any(child.once and child.name == effect.name for child in children):
                supervision.ended(effect.name, now_s, "ended with exit code 0", success=True)
            else:
                supervision.became_ready(effect.name, now_s)
    return supervision


def test_a_child_starts_when_all_its_dependencies_are_ready() -> None:
    supervision = Supervision(CHILDREN)
    assert supervision.due(0) == [StartChild("data"), StartChild("queue")]
    assert supervision.due(1) == [], "each child is started only once"
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


def test_an_ended_child_restarts_with_a_delay_that_grows_to_ten_seconds() -> None:
    supervision, now_s, delays = all_ready(), 0.0, []
    for _ in range(200):
        supervision.ended("api", now_s, "ended by SIGKILL", success=False)
        ended_s = now_s
        while not (effects := supervision.due(now_s)):
            now_s += 0.25
        assert effects == [StartChild("api")]
        delays.append(now_s - ended_s)
    assert delays[:6] == [DELAY_S_FIRST, 1.0, 2.0, 4.0, 8.0, DELAY_S_MAX]
    assert set(delays[5:]) == {DELAY_S_MAX}
    assert supervision.status["api"].restarts == 200
    assert supervision.status["api"].problem == "ended by SIGKILL"


def test_the_restart_delay_is_reset_after_a_child_has_been_ready_for_a_while() -> None:
    supervision = all_ready()
    for _ in range(5):
        supervision.ended("api", 0, "ended by SIGKILL", success=False)
        supervision.due(DELAY_S_MAX)
    supervision.became_ready("api", 10)
    supervision.ended("api", 10 + STEADY_S, "ended by SIGKILL", success=False)
    assert supervision.status["api"].failures == 1
    assert supervision.due(10 + STEADY_S + DELAY_S_FIRST) == [StartChild("api")]


def test_a_service_that_exits_with_success_is_restarted() -> None:
    supervision = all_ready()
    supervision.ended("beat", 1, "ended with exit code 0", success=True)
    assert supervision.due(1 + DELAY_S_FIRST) == [StartChild("beat")]


def test_running_dependents_continue_and_ended_dependents_wait_while_a_dependency_restarts() -> None:
    supervision = all_ready()
    supervision.ended("data", 1, "ended by SIGKILL", success=False)
    assert supervision.status["api"].state is State.READY, "the API reconnects without a restart"
    supervision.ended("api", 1, "ended by SIGKILL", success=False)
    assert supervision.due(60) == [StartChild("data")]
    supervision.became_ready("data", 61)
    assert supervision.due(61) == [StartChild("api")], "the schema process runs only once"


def test_a_child_that_must_succeed_once_is_retried_after_a_failure() -> None:
    supervision = Supervision(CHILDREN)
    supervision.due(0)
    supervision.became_ready("data", 0)
    assert supervision.due(0) == [StartChild("schema")]
    supervision.ended("schema", 1, "ended with exit code 1", success=False)
    assert supervision.due(1) == []
    assert supervision.due(1 + DELAY_S_FIRST) == [StartChild("schema")]


def test_a_child_that_does_not_become_ready_is_killed_once_and_restarted() -> None:
    supervision = all_ready()
    supervision.ended("api", 0, "ended by SIGKILL", success=False)
    supervision.due(1)
    assert supervision.due(60) == []
    assert supervision.due(61) == [KillChild("api", "not ready after 60 s")]
    assert supervision.due(62) == []
    supervision.ended("api", 62, "ended by SIGKILL", success=False)
    assert supervision.due(63) == [StartChild("api")]


def test_the_start_limit_of_a_slow_child_doubles_at_each_restart_up_to_eight_times_its_first_value() -> None:
    supervision = Supervision([Child("api", start_s_max=60.0)])
    now_s, limits = 0.0, []
    for _ in range(6):
        while supervision.status["api"].state is not State.STARTING:
            supervision.due(now_s)
            now_s += 1
        started_s = supervision.status["api"].since_s
        while not (effects := supervision.due(now_s)):
            now_s += 1
        assert effects == [KillChild("api", f"not ready after {now_s - started_s:.0f} s")]
        limits.append(now_s - started_s)
        supervision.ended("api", now_s, "was killed", success=False)
    assert limits == [60, 120, 240, 480, 480, 480]
    supervision.due(now_s + DELAY_S_MAX)
    supervision.became_ready("api", now_s + DELAY_S_MAX)
    assert supervision.status["api"].slow == 0, "the next start has the initial start limit"


def test_slow_children_are_restarted_one_after_another() -> None:
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
    assert supervision.due(111) == [StartChild("compiler")], "a child that waits for its restart does not block other children"
    supervision.became_ready("compiler", 120)
    assert supervision.due(130) == [StartChild("worker")]


def test_a_recovering_database_is_not_killed() -> None:
    supervision = Supervision(CHILDREN)
    supervision.due(0)
    assert supervision.due(1e6) == []


def test_the_start_of_a_child_is_retried_if_it_fails() -> None:
    supervision = Supervision(CHILDREN)
    supervision.due(0)
    supervision.did_not_start("data", 0, "cannot start: no memory")
    assert supervision.status["data"].problem == "cannot start: no memory"
    assert supervision.due(DELAY_S_FIRST) == [StartChild("data")]


def test_children_stop_after_the_children_that_depend_on_them() -> None:
    supervision = all_ready()
    supervision.stop()
    assert supervision.due(0) == [StopChild("beat"), StopChild("api")]
    supervision.ended("beat", 0, "", success=True)
    assert supervision.due(0) == [], "Postgres and Redis run until the API has ended"
    supervision.ended("api", 1, "", success=True)
    assert supervision.due(1) == [StopChild("queue"), StopChild("data")]
    supervision.ended("queue", 2, "", success=True)
    assert not supervision.over
    supervision.ended("data", 2, "", success=True)
    supervision.due(2)
    assert supervision.over


def test_a_child_that_does_not_stop_is_killed() -> None:
    supervision = all_ready()
    supervision.stop()
    supervision.due(0)
    assert supervision.due(4.9) == []
    assert supervision.due(5) == [KillChild("api", "not ended 5 s after the stop signal")]
    assert supervision.due(6) == []


def test_a_child_that_waits_for_its_restart_stops_immediately() -> None:
    supervision = all_ready()
    supervision.ended("api", 0, "ended by SIGKILL", success=False)
    supervision.stop()
    assert supervision.due(60) == [StopChild("beat"), StopChild("data")], "no running child needs the database"
    assert supervision.status["api"].state is State.STOPPED


def test_a_child_cannot_depend_on_a_later_child() -> None:
    with pytest.raises(AssertionError, match="api needs a later child"):
        Supervision([Child("api", ("data",)), Child("data")])


@pytest.mark.parametrize("seed", range(300))
def test_in_random_event_sequences_the_supervisor_respects_dependencies_and_can_stop(seed: int) -> None:
    rng, processes = random.Random(seed), RandomProcesses()
    for _ in range(rng.randrange(200)):
        processes.step(rng)
    processes.supervision.stop()
    for _ in range(500):
        if processes.supervision.over:
            break
        processes.step(rng)
    assert processes.supervision.over and not processes.running


class RandomProcesses:
    """Simulated processes that randomly become ready, fail or end, and obey or ignore signals."""

    def __init__(self) -> None:
        self.supervision = Supervision(CHILDREN)
        self.needs = {child.name: child.needs for child in CHILDREN}
        self.once = {child.name for child in CHILDREN if child.once}
        self.running: set[str] = set()
        self.stop_requested: set[str] = set()
        self.killed: set[str] = set()
        self.now_s = 0.0

    def step(self, rng: random.Random) -> None:
        self.now_s += rng.choice([0.0, 0.1, 1.0, 30.0])
        for effect in self.supervision.due(self.now_s):
            self.execute(effect, rng)
        for name in sorted(self.running):
            if name in self.killed or (name in self.stop_requested and rng.random() < 0.5) or rng.random() < 0.1:
                self.end(name, success=rng.random() < 0.5)
            elif self.supervision.status[name].state is State.STARTING and rng.random() < 0.5:
                if name in self.once:
                    self.end(name, success=True)
                else:
                    self.supervision.became_ready(name, self.now_s)

    def execute(self, effect: ChildEffect, rng: random.Random) -> None:
        match effect:
            case StartChild(name):
                assert not self.supervision.stopping
                assert name not in self.running
                assert all(self.supervision.status[one].state in (State.READY, State.DONE) for one in self.needs[name])
                if rng.random() < 0.1:
                    self.supervision.did_not_start(name, self.now_s, "no memory")
                else:
                    self.running.add(name)
            case StopChild(name):
                assert self.supervision.stopping and name in self.running
                assert not any(name in self.needs[other] for other in self.running), (
                    "all children that depend on this child have ended"
                )
                self.stop_requested.add(name)
            case KillChild(name):
                assert name in self.running
                self.killed.add(name)

    def end(self, name: str, *, success: bool) -> None:
        for names in (self.running, self.stop_requested, self.killed):
            names.discard(name)
        self.supervision.ended(name, self.now_s, "ended", success=success)
