"""Finds a Chromium or Chrome for what looks at the web interface, and on a Debian that we are root of installs one where there is none.

    .venv/bin/python tools/browser.py

prints which it is. Environment: ``WEIR_CHROMIUM`` (the program to use, instead of those on PATH). Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "WEIR_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = ("chromium", "fonts-dejavu-core")
"""The fonts are those that code is shown in: without any, browsers draw boxes."""
_RELEASE = Path("/etc/os-release")


class NoBrowser(Exception):
    """One message: what is missing, and what to do."""


def find(environment: Mapping[str, str]) -> Path | None:
    """Raises NoBrowser where one is named that is not there."""
    if named := environment.get(VARIABLE):
        found = shutil.which(named, path=environment.get("PATH", ""))
        if found is None:
            raise NoBrowser(f"{VARIABLE} names {named}, which is not a program that can be run.")
        return Path(found)
    on_path = (shutil.which(name, path=environment.get("PATH", "")) for name in NAMES)
    return next((Path(one) for one in on_path if one is not None), None)


def chromium(environment: Mapping[str, str] = os.environ, *, is_root: bool | None = None, release: Path = _RELEASE) -> Path:
    """Installed if need be, and said so. Raises NoBrowser. ``is_root`` None: whoever this process belongs to."""
    found = find(environment)
    if found is not None:
        return found
    root = os.geteuid() == 0 if is_root is None else is_root
    if root and _is_debian(release) and shutil.which("apt-get", path=environment.get("PATH", "")):
        _install(environment)
        found = find(environment)
        if found is not None:
            return found
    raise NoBrowser(
        f"there is no Chromium or Chrome on PATH ({', '.join(NAMES)}). Install one with your system's packages "
        f"(Debian: apt-get install chromium), or name the program: {VARIABLE}=/path/to/chrome"
    )


def arguments(*, is_root: bool | None = None) -> list[str]:
    """What it is started with, beside what whoever drives it adds: it talks to nobody but to the page's server."""
    root = os.geteuid() == 0 if is_root is None else is_root
    return [
        # It refuses to run as root with it. Pages that are looked at are ours.
        *(["--no-sandbox"] if root else []),
        *("--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    ]


def _is_debian(release: Path) -> bool:
    """Not what is made of it: what Ubuntu calls chromium is a snap, which containers cannot run."""
    try:
        lines = release.read_text().splitlines()
    except OSError:
        return False
    return any(line.strip().replace('"', "") == "ID=debian" for line in lines)


def _install(environment: Mapping[str, str]) -> None:
    """Raises NoBrowser."""
    print(f"browser: there is none; installing {' and '.join(PACKAGES)} with apt-get", flush=True)
    quiet = {**environment, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(["apt-get", *command], env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise NoBrowser(f"apt-get {command[0]} failed: {said[-1] if said else f'exit code {done.returncode}'}")


def main() -> int:
    try:
        print(f"browser: {chromium()}")
    except NoBrowser as problem:
        print(f"browser: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
