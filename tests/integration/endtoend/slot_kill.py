"""Kills a slot process of a running job."""

from __future__ import annotations

import os
import signal

import pytest

from demo_slots import slot_processes
from weir.spark.launch import JobResult, RunningJob


def killed_after(running: RunningJob, *, checkpoints: int) -> JobResult:
    """Kill a slot once ``checkpoints`` checkpoints have completed, then wait for the end of the run. Fails if the kill does not cause
    a recovery."""
    killed = None
    while (result := running.wait(0.05)) is None:
        if killed is None and len(running.progress().completed) >= checkpoints:
            killed = slot_processes()[0]
            os.kill(killed, signal.SIGKILL)
    if killed is None:
        pytest.fail(f"the job ended before a slot was killed: {result}")
    assert result.progress.recoveries, "the kill caused no recovery"
    return result
