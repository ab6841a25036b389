"""The data directory of an embedded platform: where it is, what lies in it, who may read it.

    DIR/
      lock            held by the supervisor for as long as it lives
      platform.json   what runs: ports, processes, the URL (state.py); no secret is in it
      secrets.json    passwords and keys made for this installation (credentials.py)
      host            random; part of this host's id (weir_workers/host.py)
      postgres/       the database's files; of the user 'nobody' if we are root
      pginstall*/     a copy of Postgres' binaries, only if that user cannot reach the installed ones
      valkey/         the queue's append-only file, and its configuration
      beat/           when beat has last asked for what
      ready/          which of our processes serve
      logs/           a log for each process, of bounded size: NAME.log and, before that, NAME.log.1
      runs/           a directory for each run of a job
      checkpoints/    unless a job says otherwise

Ours alone (0700, files 0600). As root: 0711, since Postgres has to get through to its own directory as another user.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from weir.errors import ConfigError
from weir_workers.embedded.children import UNPRIVILEGED

_OURS = frozenset({"lock", "platform.json", "secrets.json"})
"""A directory with one of these is a platform's."""
_FOLDERS = ("valkey", "beat", "ready", "logs", "runs", "checkpoints")


@dataclass(frozen=True, slots=True)
class DataDir:
    """``root``: absolute."""

    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def state(self) -> Path:
        return self.root / "platform.json"

    @property
    def secrets(self) -> Path:
        return self.root / "secrets.json"

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def valkey(self) -> Path:
        return self.root / "valkey"

    @property
    def beat(self) -> Path:
        return self.root / "beat"

    @property
    def ready(self) -> Path:
        return self.root / "ready"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def log_of(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def make(self) -> None:
        """It and its folders, closed to others. Raises ConfigError."""
        root = self.root
        as_root = os.geteuid() == 0
        try:
            if root.is_dir() and (names := set(os.listdir(root))) - set(_FOLDERS) and not names & _OURS:
                raise ConfigError(
                    f"{root} has other things in it (such as {min(names - set(_FOLDERS))}) and would be made the platform's own: "
                    "choose an empty or a new directory with --data-dir"
                )
            root.mkdir(parents=True, exist_ok=True)
            if root.stat().st_uid != os.geteuid():
                raise ConfigError(f"{root} belongs to another user: choose another directory with --data-dir")
            root.chmod(0o711 if as_root else 0o700)
            for name in _FOLDERS:
                (root / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"the data directory {root} cannot be made ({error.strerror}): choose another one with --data-dir"
            ) from None
        if as_root and (closed := _closed_above(root)) is not None:
            raise ConfigError(
                f"Postgres cannot run as root and runs as '{UNPRIVILEGED}' here, who cannot get through {closed} to {root}: "
                "choose a directory with --data-dir that all can get to, such as /var/lib/weir"
            )


def _closed_above(root: Path) -> Path | None:
    return next((folder for folder in root.resolve().parents if not folder.stat().st_mode & 0o001), None)


def data_dir(given: str | Path | None, environment: Mapping[str, str]) -> DataDir:
    """``given``, or $WEIR_HOME, or the usual place."""
    chosen = given or environment.get("WEIR_HOME") or None
    if chosen is not None:
        return DataDir(Path(os.path.abspath(Path(chosen).expanduser())))
    if os.geteuid() == 0:
        return DataDir(Path("/var/lib/weir"))
    return DataDir(Path("~/.local/share/weir").expanduser())
