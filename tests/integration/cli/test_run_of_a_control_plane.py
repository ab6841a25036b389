"""A run that a control plane started reports events, executes commands, and continues if the control plane is down."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from small_job import expected_totals, totals
from tests.control_plane import TOKEN, ControlPlane, control_plane
from tests.process_details import unless_ended
from weir_command import WEIR, arguments, weir

from weir.link.spool import read_unconfirmed
from weir.protocol.events import (
    CheckpointCompleted,
    CheckpointTriggered,
    CommandAnswered,
    CommandOutcome,
    DriverState,
    Event,
    FailureOccurred,
    GraphDeployed,
    MetricsSampled,
    ProfileEnded,
    ProfileSlot,
    Recovered,
    RunStateChanged,
    SubtasksAcknowledged,
    Suspend,
    TakeSavepoint,
)
from weir.protocol.ids import CommandId, SlotIndex
from weir.protocol.profiles import collapsed_stacks

pytestmark = pytest.mark.spark


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    with control_plane() as made:
        yield made


def command(root: Path, *more: str, function: str = "job") -> list[str]:
    return [str(WEIR), "run", *arguments(root, function=function), "--interval", "200ms", "--quiet", *more]


def environment(root: Path, plane: ControlPlane) -> dict[str, str]:
    return os.environ | {"WEIR_RUN_URL": plane.url, "WEIR_RUN_TOKEN": TOKEN, "WEIR_RUN_SPOOL": str(root / "spool")}


def completed(seen: list[Event]) -> list[CheckpointCompleted]:
    return [event for event in seen if isinstance(event, CheckpointCompleted)]


def states(seen: list[Event]) -> list[DriverState]:
    """Return the reported states without consecutive duplicates."""
    found: list[DriverState] = []
    for event in seen:
        if isinstance(event, RunStateChanged) and event.state not in found[-1:]:
            found.append(event.state)
    return found


def environments_below(driver: int) -> list[dict[str, str]]:
    found = [unless_ended(process, psutil.Process.environ) for process in psutil.Process(driver).children(recursive=True)]
    return [one for one in found if one is not None]


def slots_of(driver: int) -> list[psutil.Process]:
    """Return the children of Spark's Python daemon."""
    found = []
    for process in psutil.Process(driver).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # the process has ended, but its parent may not have reaped it yet
            if "weir.spark.daemon" in process.cmdline() and not process.children():
                found.append(process)
    return found


def test_a_run_reports_all_events_despite_an_outage_and_executes_commands(fresh: Path, plane: ControlPlane) -> None:
    function = "with_function"
    with subprocess.Popen(command(fresh, "--set", "rate=200", function=function), env=environment(fresh, plane)) as running:
        try:
            plane.wait_for(lambda seen: len(completed(seen)) >= 2)
            environments = environments_below(running.pid)
            assert len(environments) > 2 and not any(TOKEN in one.values() for one in environments)
            slots_of(running.pid)[0].kill()
            plane.wait_for(lambda seen: any(isinstance(event, Recovered) for event in seen))

            last_reported = completed(plane.seen())[-1].checkpoint
            plane.down = True
            # The job log shows that the job continues during the outage.
            while max(ids(fresh)) < last_reported + 5:
                assert running.poll() is None
            plane.down = False
            plane.wait_for(lambda seen: completed(seen)[-1].checkpoint >= last_reported + 5)

            profiles = [plane.command(ProfileSlot(SlotIndex(slot), 2)) for slot in (0, 0, 7)]
            plane.wait_for(lambda seen: len(ended_profiles(seen)) == len(profiles))

            savepoint, suspend = plane.command(TakeSavepoint()), None
            plane.wait_for(lambda seen: any(one.trigger == "savepoint" for one in completed(seen)))
            suspend = plane.command(Suspend())
            seen = plane.wait_for(lambda seen: states(seen)[-1].final)
            assert running.wait(300) == 0
        finally:
            running.kill()

    assert [one.number for one in plane.events] == list(range(1, len(plane.events) + 1)) and plane.gaps == 0
    assert list(read_unconfirmed(fresh / "spool")) == []
    assert isinstance(seen[0], GraphDeployed)
    assert states(seen)[:4] == [DriverState.INITIALIZING, DriverState.RUNNING, DriverState.RESTARTING, DriverState.RUNNING]
    assert states(seen)[-1] is DriverState.SUSPENDED
    assert len([event for event in seen if isinstance(event, FailureOccurred)]) >= 1
    answers = [event for event in seen if isinstance(event, CommandAnswered)]
    assert answers == [CommandAnswered(number, CommandOutcome.ACCEPTED) for number in (*profiles, savepoint, suspend)]
    assert [one.checkpoint for one in completed(seen)] == ids(fresh), (
        "the driver has reported exactly the checkpoints in the job log"
    )
    assert [one.checkpoint for one in completed(seen) if one.trigger == "savepoint"]
    check_profiles(ended_profiles(seen), profiles)
    last = completed(seen)[-1]
    (triggered,) = [event for event in seen if isinstance(event, CheckpointTriggered) and event.checkpoint == last.checkpoint]
    acknowledged = [event for event in seen if isinstance(event, SubtasksAcknowledged) and event.checkpoint == last.checkpoint]
    assert triggered.subtasks == sum(len(event.subtasks) for event in acknowledged) == len(last.subtasks)
    assert any(isinstance(event, MetricsSampled) for event in seen)

    resumed = weir(*command(fresh, "--resume", function=function)[1:])
    assert resumed.code == 0
    assert totals(fresh / "output") == expected_totals()


def ended_profiles(seen: list[Event]) -> dict[CommandId, ProfileEnded]:
    return {event.command: event for event in seen if isinstance(event, ProfileEnded)}


def check_profiles(ended: dict[CommandId, ProfileEnded], commands: list[CommandId]) -> None:
    """Check that the first profile contains the user function, and that the reasons for the two refused profiles are correct."""
    taken, second, unknown = (ended[command] for command in commands)
    assert second.problem == "Slot 0 is already taking a profile. Retry when that profile has ended."
    assert unknown.problem.startswith("The job has no slot 7: its slots are 0 to ")
    profile = taken.profile
    assert profile is not None, taken.problem
    assert (profile.samples, profile.dropped_samples) == (200, 0)
    user_code = [one for one in collapsed_stacks(profile) if "burn_cpu" in one]
    assert any(
        re.match(r"weir-loop;.*weir/subtask/slot\.py:\d+\);.*;burn_cpu \([^;]*small_job\.py:\d+\)", one) for one in user_code
    ), user_code
    assert next(thread for thread in profile.threads if thread.name == "weir-loop").cpu_ms


def test_a_fenced_run_stops_without_another_checkpoint(fresh: Path, plane: ControlPlane) -> None:
    with subprocess.Popen(
        command(fresh, "--set", "rate=200"), env=environment(fresh, plane), stderr=subprocess.PIPE, text=True
    ) as running:  # fmt: skip
        try:
            plane.wait_for(lambda seen: len(completed(seen)) >= 2)
            plane.status, plane.code = 410, "fenced"
            _, result = running.communicate(timeout=300)
        finally:
            running.kill()
    assert running.returncode == 3
    assert "another driver has taken over the job" in result
    # A resumed run continues without duplicates.
    plane.status = None
    assert weir(*command(fresh, "--resume")[1:]).code == 0
    assert totals(fresh / "output") == expected_totals()


@pytest.mark.parametrize("wrong", [("--from", "99"), ("--master", "yarn"), ("--conf", "spark.cores.max=none at all")])
def test_a_run_that_cannot_start_reports_the_reason(fresh: Path, plane: ControlPlane, wrong: tuple[str, str]) -> None:
    done = subprocess.run(
        command(fresh, *wrong), env=environment(fresh, plane), capture_output=True, text=True, check=False, timeout=300
    )  # fmt: skip
    assert done.returncode == 2
    (end,) = plane.seen()
    assert isinstance(end, RunStateChanged) and end.state is DriverState.FAILED
    assert end.reason and " ".join(end.reason.split()) in " ".join(done.stderr.split())
    assert list(read_unconfirmed(fresh / "spool")) == []


def ids(root: Path) -> list[int]:
    """Return the ids of all checkpoints in the job log, including retired ones."""
    listed = weir("checkpoints", root / "checkpoints", "--retired", "--json")
    return [one["checkpoint"] for one in json.loads(listed.out)] if listed.code == 0 else [0]
