"""Measurements of the control plane as they are kept: one JSON object a line, with where and when it was taken."""

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
    """``met`` None: not judged, as too little was measured. A missed one is told and is no error."""

    text: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class Measurement:
    """``part``: of the benchmark. ``what``: was measured in it. ``values``: numbers with their unit in the name. ``wrong``: what a check of
    the result found; None: it is right. ``load``: running processes of the whole machine, over the last minute, when it ended."""

    part: str
    what: str
    values: dict[str, Value]
    aim: Aim | None = None
    wrong: str | None = None
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 2))


class Planned(Protocol):
    def settings(self) -> dict[str, object]: ...


def about(plan: Planned, arguments: Sequence[str]) -> dict[str, object]:
    """Where, when and with which settings."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": {
            "processor": _processor(), "cores": os.cpu_count(), "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
            "python": platform.python_version(), "system": f"{platform.system()} {platform.release()}",
        },
        "arguments": list(arguments),
        "settings": plan.settings(),
    }  # fmt: skip


def append(measured: Measurement, run: dict[str, object], file: Path) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps({**asdict(measured), "run": run}) + "\n")


def _commit() -> str:
    """With ``+`` if the working tree has changes. '' outside of a repository."""

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
