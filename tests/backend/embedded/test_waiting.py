"""What is said while something takes long, and how long it may."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir_workers.embedded.processes import ProcessId
from weir_workers.embedded.services import START_S_MAX, start_limits
from weir_workers.embedded.state import ChildState, Phase, PlatformState, Ports
from weir_workers.embedded.supervision import State
from weir_workers.embedded.telling import Waiting

STARTING = PlatformState(
    "1", ProcessId(7, "then"), Phase.STARTING, Ports(),
    children={"api": ChildState(State.STARTING), "beat": ChildState(State.WAITING), "valkey": ChildState(State.READY)},
)  # fmt: skip


def log_of(name: str) -> Path:
    return Path(f"/logs/{name}.log")


def test_what_is_slow_is_named_with_its_log_now_and_then() -> None:
    waiting = Waiting(log_of)
    said = [(second, line) for second in range(300) for line in waiting.lines(STARTING, float(second))]
    assert [second for second, _ in said] == [10, 20, 40, 80, 140, 200, 260]
    assert said[1][1] == "  API       is still coming up after 20 s; what it says is in /logs/api.log"


def test_before_anything_is_started_it_is_the_supervisor_that_is_waited_for() -> None:
    waiting = Waiting(log_of)
    assert waiting.lines(None, 0.0) == []
    assert waiting.lines(replace(STARTING, children={}), 12.0) == [
        "  supervisor still preparing after 12 s; what it says is in /logs/supervisor.log"
    ]
    assert waiting.lines(STARTING, 12.5) == [], "what begins now is waited for from now on"
    assert len(waiting.lines(STARTING, 22.5)) == 1


def test_who_starts_again_is_waited_for_anew() -> None:
    waiting = Waiting(log_of)
    waiting.lines(STARTING, 0.0)
    assert waiting.lines(replace(STARTING, children={"api": ChildState(State.WAITING)}), 9.0) == []
    assert waiting.lines(STARTING, 11.0) == []


def test_how_long_they_may_take_is_said_for_all_or_for_each() -> None:
    names = {"api", "worker", "compiler", "chores", "beat"}
    assert start_limits({}) == dict.fromkeys(names, START_S_MAX)
    assert start_limits({"WEIR_START_S_MAX": "300"}) == dict.fromkeys(names, 300.0)
    assert start_limits({"WEIR_START_S_MAX": "api=300, worker=20"}) == dict.fromkeys(names, START_S_MAX) | {
        "api": 300.0, "worker": 20.0,
    }  # fmt: skip


@pytest.mark.parametrize("said", ["long", "0", "-3", "api", "postgres=3", "api=1.5", "99999999"])
def test_a_limit_that_is_none_is_refused_with_the_names_there_are(said: str) -> None:
    with pytest.raises(ConfigError, match=f"WEIR_START_S_MAX is '{said}'.*there are api, worker, compiler, chores, beat"):
        start_limits({"WEIR_START_S_MAX": said})
