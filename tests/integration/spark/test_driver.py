from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.integration.spark.fake_coordinator import WAIT_S

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.integration.spark.driver_app"]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=-1, stdout=-1, stderr=-1) as process:
        yield process
        process.kill()


def _processes(driver: subprocess.Popen[str]) -> tuple[list[psutil.Process], list[psutil.Process]]:
    """Return (slots, all processes except the driver)."""
    assert driver.stdout is not None
    registration = json.loads(driver.stdout.readline())
    assert set(registration["slots"]) <= set(registration["processes"])
    processes = [psutil.Process(pid) for pid in registration["processes"] if pid != driver.pid and psutil.pid_exists(pid)]
    return [psutil.Process(pid) for pid in registration["slots"]], processes


def test_a_driver_that_lost_a_slot_exits_without_error_output_or_remaining_processes(driver: subprocess.Popen[str]) -> None:
    _, processes = _processes(driver)
    _, errors = driver.communicate(timeout=WAIT_S)
    assert driver.returncode == 0
    assert errors == ""
    _, alive = psutil.wait_procs(processes, timeout=WAIT_S)
    assert alive == []


def test_slots_and_java_end_when_the_driver_is_killed(driver: subprocess.Popen[str]) -> None:
    _, processes = _processes(driver)
    driver.kill()
    _, alive = psutil.wait_procs(processes, timeout=WAIT_S)
    assert alive == []


def test_slots_end_with_the_driver_even_if_the_python_daemon_was_killed_first(driver: subprocess.Popen[str]) -> None:
    slots, _ = _processes(driver)
    daemon = slots[0].ppid()
    assert "weir.spark.daemon" in " ".join(psutil.Process(daemon).cmdline())
    os.kill(daemon, signal.SIGKILL)
    driver.kill()
    _, alive = psutil.wait_procs(slots, timeout=WAIT_S)
    assert alive == []
