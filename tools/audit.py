"""Report known vulnerabilities in the locked packages.

This program sends requests to an advisory service, and trusts the certificates that pip trusts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from package_index import install_environment

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    environment = install_environment(os.environ, ROOT)
    if certificates := environment.get("SSL_CERT_FILE"):
        environment.setdefault("REQUESTS_CA_BUNDLE", certificates)
    program = Path(sys.executable).parent / "pip-audit"
    options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off"]
    locks = [part for name in ("dev.lock", "java.lock") for part in ("--requirement", str(ROOT / "requirements" / name))]
    return subprocess.run([str(program), *options, *locks], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
