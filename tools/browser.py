"""Find Chromium or Chrome for tests of the web UI. If neither is installed and the user is root on Debian, install Chromium.

Running ``.venv/bin/python tools/browser.py`` prints the path of the browser. The environment variable ``WEIR_CHROMIUM`` names a
program to use instead of the browsers on PATH. This module uses only the standard library.
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
"""Debian packages to install. Without the fonts in fonts-dejavu-core, Chromium draws boxes instead of letters."""
_RELEASE = Path("/etc/os-release")


class NoBrowser(Exception):
    """No browser is available. The error message states what is missing and what to do."""


def find(environment: Mapping[str, str]) -> Path | None:
    """Return the path of a browser, or None if no browser is found. Raises NoBrowser if WEIR_CHROMIUM does not name a program."""
    if named := environment.get(VARIABLE):
        found = shutil.which(named, path=environment.get("PATH", ""))
        if found is None:
            raise NoBrowser(f"{VARIABLE} is {named}, which is not an executable program.")
        return Path(found)
    on_path = (shutil.which(name, path=environment.get("PATH", "")) for name in NAMES)
    return next((Path(path) for path in on_path if path is not None), None)


def chromium(environment: Mapping[str, str] = os.environ, *, is_root: bool | None = None, release: Path = _RELEASE) -> Path:
    """Return the path of the browser, after installing a browser if necessary. Raises NoBrowser.

    If ``is_root`` is None, find out whether this process runs as root.
    """
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
        f"No Chromium or Chrome on PATH ({', '.join(NAMES)}). Install Chromium (Debian: apt-get install chromium), "
        f"or set {VARIABLE}=/path/to/chrome."
    )


def arguments(*, is_root: bool | None = None) -> list[str]:
    """Return browser options that prevent connections to any server except the server of the page."""
    root = os.geteuid() == 0 if is_root is None else is_root
    return [
        # If the user is root, Chromium and Chrome refuse to start unless the sandbox is off. The tests need no sandbox, because they
        # open only pages of this repository.
        *(["--no-sandbox"] if root else []),
        *("--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    ]


def _is_debian(release: Path) -> bool:
    """Return whether the system is Debian. Ubuntu's chromium package is a snap, which does not run in containers."""
    try:
        lines = release.read_text().splitlines()
    except OSError:
        return False
    return any(line.strip().replace('"', "") == "ID=debian" for line in lines)


def _install(environment: Mapping[str, str]) -> None:
    """Raises NoBrowser."""
    print(f"browser: none found; installing {' and '.join(PACKAGES)} with apt-get", flush=True)
    quiet = {**environment, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(["apt-get", *command], env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise NoBrowser(f"apt-get {command[0]} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")


def main() -> int:
    try:
        print(f"browser: {chromium()}")
    except NoBrowser as problem:
        print(f"browser: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
