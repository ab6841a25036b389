"""Runs the hand-written ``ceiling.py`` as a separate process. The throughput of this program is an upper bound for the throughput
of abs6.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "ceiling.py"
FIRST_RECORDS = 20_000_000


@dataclass(frozen=True, slots=True)
class CeilingRun:
    records: int
    seconds: float
    cpu_s: float
    """CPU time of both processes, including a second or two for loading."""
    total: int

    @property
    def records_per_s(self) -> float:
        return self.records / self.seconds

    @property
    def records_per_cpu_s(self) -> float:
        return self.records / self.cpu_s


class Ceiling:
    """Runs of the ceiling program, of about ``seconds`` each. The speed of the previous run determines the number of records."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._records_per_s: float | None = None

    def run(self) -> CeilingRun:
        if self._records_per_s is None:
            self._records_per_s = run_ceiling(FIRST_RECORDS).records_per_s
        # Each of the two processes generates half of the records, so the number of records must be even.
        run = run_ceiling(max(FIRST_RECORDS, int(self._records_per_s * self._seconds) // 2 * 2))
        self._records_per_s = run.records_per_s
        return run


def run_ceiling(records: int) -> CeilingRun:
    """Run the ceiling program once. Raises SystemExit if the program fails or loses a record."""
    process = subprocess.Popen([sys.executable, str(PROGRAM), "--records", str(records)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{PROGRAM.name} ended with exit code {process.returncode}")
    result = json.loads(output)
    if result["records"] != records:
        raise SystemExit(f"{PROGRAM.name} processed {result['records']} of {records} records")
    return CeilingRun(records, result["seconds"], usage.ru_utime + usage.ru_stime, result["total"])
