"""A run in the middle of which a slot's process is killed."""

from __future__ import annotations

import os
import signal

import pytest

from demo_worker import slot_processes
from weir.spark.launch import JobResult, RunningJob


def killed_after(running: RunningJob, *, checkpoints: int) -> JobResult:
    """To its end; the kill comes once so many checkpoints have completed, and has to be noticed."""
    killed = None
    while (result := running.wait(0.05)) is None:
        if killed is None and len(running.progress().completed) >= checkpoints:
            killed = slot_processes()[0]
            os.kill(killed, signal.SIGKILL)
    if killed is None:
        pytest.fail(f"the job ended before it could be disturbed: {result}")
    assert result.progress.recoveries, "the kill went unnoticed"
    return result
