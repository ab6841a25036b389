"""The hand-written program beside which everything is measured, as a process of its own."""

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
    """Of both its processes, loading included (a second or two)."""
    total: int

    @property
    def records_per_s(self) -> float:
        return self.records / self.seconds

    @property
    def records_per_cpu_s(self) -> float:
        return self.records / self.cpu_s


class Ceiling:
    """Runs of about ``seconds`` each, as long as the run before says how many records that takes."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._records_per_s: float | None = None

    def run(self) -> CeilingRun:
        if self._records_per_s is None:
            self._records_per_s = run_ceiling(FIRST_RECORDS).records_per_s
        # An even number, as two processes share the records.
        run = run_ceiling(max(FIRST_RECORDS, int(self._records_per_s * self._seconds) // 2 * 2))
        self._records_per_s = run.records_per_s
        return run


def run_ceiling(records: int) -> CeilingRun:
    """Raises SystemExit if it fails or loses a record."""
    process = subprocess.Popen([sys.executable, str(PROGRAM), "--records", str(records)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{PROGRAM.name} ended with exit code {process.returncode}")
    result = json.loads(said)
    if result["records"] != records:
        raise SystemExit(f"{PROGRAM.name} gave {result['records']} of {records} records")
    return CeilingRun(records, result["seconds"], usage.ru_utime + usage.ru_stime, result["total"])
