"""The command ``weir`` as a process of its own: what it says, and how it ends."""

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
_OVERRIDING = (1, 2, 3)
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER: what lets root read and write everything."""


def arguments(root: Path, *, function: str = "job") -> list[str]:
    """Of ``weir run``, for the small job with all that is its in ``root``."""
    return [
        f"{JOB}:{function}",
        *("--set", f"input={root / 'input'}", "--set", f"output={root / 'output'}"),
        *("--checkpoint-dir", str(root / "checkpoints")),
    ]


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """Its one error message. Fails if there is something of a traceback beside it."""
        refuse_tracebacks(self.out + self.err)
        lines = [line for line in self.err.splitlines() if line.startswith("weir: ")]
        assert len(lines) == 1, f"not one message but {len(lines)}: {self.err}"
        return lines[0]


def refuse_tracebacks(console: str) -> None:
    for sign in ("Traceback (most recent call last)", "\tat ", "java.lang.", "py4j.", "org.apache.spark"):
        assert sign not in console, f"{sign!r} is on the console: {console}"
    assert not re.search(r'^  File ".*", line \d+', console, re.MULTILINE), console


def weir(*arguments: str | Path, env: Mapping[str, str] | None = None, before: Callable[[], None] | None = None) -> Said:
    """``before``: called in the new process, first of all."""
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
    return Said(done.returncode, done.stdout, done.stderr)


def let_permissions_hold() -> None:
    """Of files, even for root."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in _OVERRIDING:
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
