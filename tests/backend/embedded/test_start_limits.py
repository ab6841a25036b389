"""Messages and time limits for slow starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir_workers.embedded.cli.output import SlowStartNotices
from weir_workers.embedded.data_dir.platform_state import ChildState, Phase, PlatformState, Ports
from weir_workers.embedded.processes import ProcessId
from weir_workers.embedded.supervisor.services import START_S_MAX, start_limits
from weir_workers.embedded.supervisor.state_machine import State

STARTING = PlatformState(
    "1", ProcessId(7, "then"), Phase.STARTING, Ports(),
    children={"api": ChildState(State.STARTING), "beat": ChildState(State.WAITING), "valkey": ChildState(State.READY)},
)  # fmt: skip


def log_of(name: str) -> Path:
    return Path(f"/logs/{name}.log")


def test_a_slow_process_is_reported_with_the_path_of_its_log() -> None:
    notices = SlowStartNotices(log_of)
    lines = [(second, line) for second in range(300) for line in notices.lines(STARTING, float(second))]
    assert [second for second, _ in lines] == [10, 20, 40, 80, 140, 200, 260]
    assert lines[1][1] == "  API       still starting after 20 s; see /logs/api.log"


def test_the_supervisor_is_reported_as_slow_until_the_first_process_starts() -> None:
    notices = SlowStartNotices(log_of)
    assert notices.lines(None, 0.0) == []
    assert notices.lines(replace(STARTING, children={}), 12.0) == [
        "  supervisor still preparing after 12 s; see /logs/supervisor.log"
    ]
    assert notices.lines(STARTING, 12.5) == [], "the waiting time begins when a process appears for the first time"
    assert len(notices.lines(STARTING, 22.5)) == 1


def test_a_restart_resets_the_waiting_time() -> None:
    notices = SlowStartNotices(log_of)
    notices.lines(STARTING, 0.0)
    assert notices.lines(replace(STARTING, children={"api": ChildState(State.WAITING)}), 9.0) == []
    assert notices.lines(STARTING, 11.0) == []


def test_a_start_limit_can_be_set_for_all_processes_or_for_one_process() -> None:
    names = {"api", "worker", "compiler", "chores", "beat"}
    assert start_limits({}) == dict.fromkeys(names, START_S_MAX)
    assert start_limits({"WEIR_START_S_MAX": "300"}) == dict.fromkeys(names, 300.0)
    assert start_limits({"WEIR_START_S_MAX": "api=300, worker=20"}) == dict.fromkeys(names, START_S_MAX) | {
        "api": 300.0, "worker": 20.0,
    }  # fmt: skip


@pytest.mark.parametrize("value", ["long", "0", "-3", "api", "postgres=3", "api=1.5", "99999999"])
def test_an_invalid_start_limit_is_refused_and_the_error_names_the_processes(value: str) -> None:
    with pytest.raises(
        ConfigError, match=f"WEIR_START_S_MAX is '{value}'.*the processes are api, worker, compiler, chores, beat"
    ):
        start_limits({"WEIR_START_S_MAX": value})
