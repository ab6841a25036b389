"""Runs the command ``weir`` in a process and returns its output and exit code."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WEIR = Path(sys.executable).with_name("weir")
TIMEOUT_S = 240.0
JOB = ROOT / "tests" / "integration" / "cli" / "small_job.py"
_PR_CAPBSET_DROP = 24
_CAPABILITIES = (1, 2, 3)
"""The Linux capabilities with which root ignores file permissions: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER."""


def arguments(root: Path, *, function: str = "job") -> list[str]:
    """Return arguments of ``weir run`` for the small job, with all directories in ``root``."""
    return [
        f"{JOB}:{function}",
        *("--set", f"input={root / 'input'}", "--set", f"output={root / 'output'}"),
        *("--checkpoint-dir", str(root / "checkpoints")),
    ]


@dataclass(frozen=True, slots=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The only error message. Fails if the output contains a traceback, or if the number of messages is not 1."""
        refuse_tracebacks(self.out + self.err)
        lines = [line for line in self.err.splitlines() if line.startswith("weir: ")]
        assert len(lines) == 1, f"expected one message, not {len(lines)}: {self.err}"
        return lines[0]


def refuse_tracebacks(console: str) -> None:
    for sign in ("Traceback (most recent call last)", "\tat ", "java.lang.", "py4j.", "org.apache.spark"):
        assert sign not in console, f"{sign!r} is in the output: {console}"
    assert not re.search(r'^  File ".*", line \d+', console, re.MULTILINE), console


def weir(*arguments: str | Path, env: Mapping[str, str] | None = None, before: Callable[[], None] | None = None) -> CommandResult:
    """Run the command ``weir`` in a new process. If ``before`` is given, the new process calls it first."""
    done = subprocess.run(
        [str(WEIR), *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        preexec_fn=before,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def enforce_permissions() -> None:
    """Drop the capabilities with which root ignores file permissions."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in _CAPABILITIES:
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
