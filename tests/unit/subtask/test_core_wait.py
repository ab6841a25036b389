from __future__ import annotations

import os
import threading
from pathlib import Path

from weir.subtask.core_wait import CoreWait


def test_it_is_what_the_kernel_says_of_the_thread_that_read_first() -> None:
    wait = CoreWait()
    before = wait.read_ns()
    seen: list[int] = []
    other = threading.Thread(target=lambda: seen.append(wait.read_ns()))
    other.start()
    other.join()
    says = int(Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()[1])
    wait.close()

    assert 0 <= before <= seen[0] <= says


def test_reading_after_closing_is_harmless() -> None:
    wait = CoreWait()
    wait.read_ns()
    open_before = len(os.listdir("/proc/self/fd"))
    wait.close()
    assert len(os.listdir("/proc/self/fd")) == open_before - 1
    assert wait.read_ns() == 0
