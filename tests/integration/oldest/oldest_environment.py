"""The virtual environment with the oldest versions that the runtime supports (requirements/oldest.lock)."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bootstrap import LOCKS, ROOT, one_at_a_time
from package_index import install_environment


def oldest_environment() -> Path:
    """Return the Python of the environment. The environment is created once, and reused until the lock file changes.

    An interrupted creation is started again. Weir itself is not installed: set PYTHONPATH to ``runtime/``.
    """
    locks = (LOCKS / "oldest.lock", LOCKS / "build.lock")
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks) + sys.version.encode()).hexdigest()[:16]
    path = ROOT / ".cache" / f"oldest-{digest}"
    complete = path / "weir-complete"
    with one_at_a_time(ROOT / ".cache" / "oldest.lock"):
        if not complete.exists():
            for earlier in path.parent.glob("oldest-*"):
                shutil.rmtree(earlier, ignore_errors=True)
            uv = Path(sys.executable).with_name("uv")
            environment = install_environment(os.environ, ROOT)
            subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, path], env=environment, check=True)
            subprocess.run(
                [
                    *(uv, "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--python", path / "bin" / "python"),
                    *("--build-constraints", locks[1], "--require-build-hashes", "--preview-features", "build-dependency-hashes"),
                    *("--requirement", locks[0]),
                ],
                env=environment,
                check=True,
            )
            complete.touch()
    return path / "bin" / "python"
