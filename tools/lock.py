"""Resolve ``requirements/*.lock`` from pyproject.toml and the pins in this file. Usage: ``python tools/lock.py [--upgrade]``.

The lock files contain hashes, but not the URL of a package registry. Locked versions are kept if they
still satisfy the requirements. With ``--upgrade``, the newest versions are locked instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from package_index import install_environment

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
PYTHON_MIN = "3.11"

# Build dependencies of Weir and of packages without wheels (pyspark).
BUILD_PINS = ("setuptools==80.9.0", "wheel==0.46.3", "hatchling==1.33.0", "editables==0.6")
UV_PIN = "uv==0.13.8"


def compile_lock(name: str, arguments: list[str], *, upgrade: bool) -> None:
    lock = LOCKS / name
    with tempfile.TemporaryDirectory(dir=LOCKS) as folder:
        fresh = Path(folder, name)
        if lock.exists() and not upgrade:
            fresh.write_bytes(lock.read_bytes())  # uv keeps the versions that it finds in its output file
        command = [str(Path(sys.executable).parent / "uv"), "pip", "compile", *arguments, "--output-file", str(fresh)]
        options = ["--universal", "--python-version", PYTHON_MIN, "--generate-hashes", "--no-header", "--no-annotate", "--quiet"]
        subprocess.run([*command, *options], cwd=ROOT, env=install_environment(os.environ, ROOT), check=True)
        fresh.replace(lock)
    packages = sum("==" in line for line in lock.read_text().splitlines())
    print(f"{lock.relative_to(ROOT)}: {packages} packages")


def compile_pins(name: str, pins: tuple[str, ...], *, upgrade: bool) -> None:
    with tempfile.TemporaryDirectory(dir=LOCKS) as folder:
        pinned = Path(folder, "pins.in")
        pinned.write_text("\n".join(pins) + "\n")
        compile_lock(name, [str(pinned)], upgrade=upgrade)


def main(arguments: list[str]) -> int:
    upgrade = "--upgrade" in arguments
    groups = [part for group in ("test", "check", "demo", "e2e") for part in ("--group", group)]
    compile_lock("dev.lock", ["pyproject.toml", "--extra", "embedded", "--extra", "mcp", *groups], upgrade=upgrade)
    # The lowest versions that pyproject.toml allows, for a test. They change only with pyproject.toml.
    compile_lock("oldest.lock", ["pyproject.toml", "--extra", "runtime", "--resolution", "lowest-direct"], upgrade=True)
    compile_lock("java.lock", ["--group", "java", "--no-deps"], upgrade=upgrade)
    compile_lock("node.lock", ["--group", "node", "--no-deps"], upgrade=upgrade)
    # The packages for pictures are installed outside .venv and use the NumPy of .venv.
    shared = ["--constraint", "requirements/dev.lock", "--no-emit-package", "numpy"]
    compile_lock("pictures.lock", ["--group", "pictures", *shared], upgrade=upgrade)
    compile_pins("installer.lock", (UV_PIN,), upgrade=upgrade)
    compile_pins("build.lock", BUILD_PINS, upgrade=upgrade)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
