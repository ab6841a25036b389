"""Fail if a file of the repository contains something that is valid on one machine only.

A lock file must not contain an address, because it must work with any package index. Configuration must not contain a path into a
home directory. A tracked text file must not contain the absolute path of this checkout.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://|^--?(index-url|extra-index-url|i|find-links|f|trusted-host)\b")
HOME = re.compile(r"(?<![\w.$})])/(root|home/\w+|Users/\w+)/")
FUNDING = re.compile(r'^\s*("url": )?"https://')
"""Matches the URL of a package's funding page. npm records this URL in the lock file, but downloads nothing from it."""
LOCKS = {".lock"}
LOCK_NAMES = {"package-lock.json"}
CONFIGURATION = {".toml", ".cfg", ".ini", ".yaml", ".yml", ".json", ".lock"}
CONFIGURATION_NAMES = {"Makefile", "run", "Dockerfile", ".npmrc", ".editorconfig"}
BYTES_MAX = 2_000_000


def faults(path: Path, text: str) -> Iterator[str]:
    lock = path.suffix in LOCKS or path.name in LOCK_NAMES
    configuration = path.suffix in CONFIGURATION or path.name in CONFIGURATION_NAMES
    for number, line in enumerate(text.splitlines(), 1):
        if lock and ADDRESS.search(line) and not FUNDING.match(line):
            yield f"{path}:{number}: an address or an index option in a lock file: {line.strip()[:80]}"
        if configuration and HOME.search(line):
            yield f"{path}:{number}: a path into a home directory: {line.strip()[:80]}"
        if len(ROOT.parts) > 2 and re.search(re.escape(str(ROOT)) + r"(?![\w-])", line):
            yield f"{path}:{number}: the path of this checkout: {line.strip()[:80]}"


def tracked() -> list[Path]:
    """Return the files that git tracks, and new files that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in listed.split("\0") if name]


def main() -> int:
    found: list[str] = []
    for path in tracked():
        absolute = ROOT / path
        if not absolute.is_file() or absolute.stat().st_size > BYTES_MAX:
            continue
        try:
            text = absolute.read_text()
        except UnicodeDecodeError:
            continue
        found.extend(faults(path, text))
    for fault in found:
        print(fault)
    if found:
        print(f"{len(found)} line(s) are valid on one machine only. Use relative paths or environment variables.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
