"""Result files of the control plane benchmarks: one JSON object per line, with machine, commit and settings."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from bench.platform.options import ROOT

Value = float | int | str | bool | None


@dataclass(frozen=True, slots=True)
class Aim:
    """A performance target of the project. ``met``: None means that too little was measured to evaluate the target. Benchmarks
    of the control plane report a missed target, but a missed target is not an error."""

    text: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement. ``part``: the part of the benchmark. ``what``: what was measured. ``values``: numbers, with units in their
    names. ``wrong``: the error that a check of the result found. ``load``: load average of the machine over the last minute,
    read at the end of the measurement."""

    part: str
    what: str
    values: dict[str, Value]
    aim: Aim | None = None
    wrong: str | None = None
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 2))


class Planned(Protocol):
    def settings(self) -> dict[str, object]: ...


def about(options: Planned, arguments: Sequence[str]) -> dict[str, object]:
    """Return time, machine, commit and settings of a benchmark run."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": {
            "processor": _processor(), "cores": os.cpu_count(), "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
            "python": platform.python_version(), "system": f"{platform.system()} {platform.release()}",
        },
        "arguments": list(arguments),
        "settings": options.settings(),
    }  # fmt: skip


def append(measured: Measurement, run: dict[str, object], file: Path) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps({**asdict(measured), "run": run}) + "\n")


def _commit() -> str:
    """Return the commit, with ``+`` if the working tree has changes, or '' outside a repository."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    commit = git("rev-parse", "--short", "HEAD")
    return f"{commit}+" if commit and git("status", "--porcelain", "--untracked-files=no") else commit


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())
