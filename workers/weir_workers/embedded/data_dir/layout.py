"""The data directory of an embedded platform: its location, files and permissions.

    DIR/
      lock            the supervisor holds this lock while it is alive
      platform.json   state: ports, processes, the URL (platform_state.py); contains no secret
      secrets.json    passwords and keys of this installation (credentials.py)
      host            a random part of the id of this host (weir_workers/host.py)
      postgres/       the database; owned by 'nobody' if the supervisor is root
      pginstall*/     a copy of Postgres' binaries, only if that user cannot reach the installed ones
      valkey/         the append-only file of the queue, and its configuration
      beat/           when beat last enqueued each periodic task
      ready/          the pid of each process that has reported ready
      logs/           one log per process, of bounded size: NAME.log and the older NAME.log.1
      runs/           one directory per run of a job
      checkpoints/    the default checkpoint directory of jobs

Only the owner has access: directories have mode 0700, files 0600. If the owner is root, DIR has mode 0711, because Postgres runs as
another user and must reach its own directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from weir.errors import ConfigError
from weir_workers.embedded.processes import UNPRIVILEGED

_OURS = frozenset({"lock", "platform.json", "secrets.json"})
"""A directory that contains one of these files belongs to a platform."""
_FOLDERS = ("valkey", "beat", "ready", "logs", "runs", "checkpoints")


class DataDir:
    def __init__(self, root: Path) -> None:
        """``root`` is an absolute path."""
        self.root = root
        self.lock = root / "lock"
        self.state = root / "platform.json"
        self.secrets = root / "secrets.json"
        self.postgres = root / "postgres"
        self.valkey = root / "valkey"
        self.beat = root / "beat"
        self.ready = root / "ready"
        self.logs = root / "logs"

    def log_of(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def make(self) -> None:
        """Create the directory and its folders, accessible only to their owner. Raises ConfigError."""
        root = self.root
        as_root = os.geteuid() == 0
        try:
            if root.is_dir() and (names := set(os.listdir(root))) - set(_FOLDERS) and not names & _OURS:
                raise ConfigError(
                    f"{root} contains other files (such as {min(names - set(_FOLDERS))}): "
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
                f"cannot create the data directory {root} ({error.strerror}): choose another directory with --data-dir"
            ) from None
        if as_root and (closed := _closed_above(root)) is not None:
            raise ConfigError(
                f"Postgres runs as user '{UNPRIVILEGED}' because it refuses to run as root, and that user cannot access {root} through {closed}: "
                "choose a directory with --data-dir that all users can reach, such as /var/lib/weir"
            )


def _closed_above(root: Path) -> Path | None:
    return next((folder for folder in root.resolve().parents if not folder.stat().st_mode & 0o001), None)


def data_dir(given: str | Path | None, environment: Mapping[str, str]) -> DataDir:
    """Return ``given``, or $WEIR_HOME, or the default directory."""
    chosen = given or environment.get("WEIR_HOME") or None
    if chosen is not None:
        return DataDir(Path(os.path.abspath(Path(chosen).expanduser())))
    if os.geteuid() == 0:
        return DataDir(Path("/var/lib/weir"))
    return DataDir(Path("~/.local/share/weir").expanduser())


def write_private(path: Path, text: str) -> None:
    """Replace ``path`` atomically and durably, readable by its owner only. Raises OSError."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
