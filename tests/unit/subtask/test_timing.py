from __future__ import annotations

import os
import threading
from pathlib import Path

from weir.subtask.timing import CoreWaitClock


def test_the_core_wait_clock_measures_the_thread_that_reads_it_first() -> None:
    wait = CoreWaitClock()
    before = wait.read_ns()
    readings: list[int] = []
    other = threading.Thread(target=lambda: readings.append(wait.read_ns()))
    other.start()
    other.join()
    expected = int(Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()[1])
    wait.close()

    assert 0 <= before <= readings[0] <= expected


def test_a_closed_clock_returns_zero() -> None:
    wait = CoreWaitClock()
    wait.read_ns()
    open_before = len(os.listdir("/proc/self/fd"))
    wait.close()
    assert len(os.listdir("/proc/self/fd")) == open_before - 1
    assert wait.read_ns() == 0
