"""From what the command line says to the version of a spec that is wanted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weir.cli.checkpointing import CHECKPOINT_TIMEOUT, MIN_PAUSE, TOLERABLE_FAILED_CHECKPOINTS
from weir.cli.remote.errors import Refused
from weir.cli.words import parse_count, parse_duration_ms, parse_settings

_TARGET = re.compile(r"(?P<path>.+?\.(?:py|zip|whl))(?::(?P<entry>.*))?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*\.(py|zip|whl)")
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IN_ARCHIVE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*")
FUNCTION = "job"
"""Unless something else is said, as for ``weir run``."""


@dataclass(frozen=True, slots=True)
class Code:
    """A file of user code, and which function in it makes the job."""

    name: str
    data: bytes = field(repr=False)
    entry: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Settings:
    """As they were given on the command line."""

    parameters: list[str]
    parallelism: int
    master: str
    interval: str
    retained: int
    checkpoint_dir: str | None
    staging_dir: str | None
    conf: list[str]
    spares: int
    allow_non_restored_state: bool
    checkpoint_timeout: str = CHECKPOINT_TIMEOUT
    min_pause: str = MIN_PAUSE
    tolerable_failed_checkpoints: str = TOLERABLE_FAILED_CHECKPOINTS


def read_code(target: str) -> Code:
    """``job.py``, ``job.py:function``, ``jobs.whl:package.module:function``. Raises Refused."""
    match = _TARGET.fullmatch(target)
    if match is None:
        raise Refused(f"'{target}' is no file that can be deployed: give a .py file, or a .zip or .whl with the job's package")
    path, entry = Path(match["path"]), match["entry"]
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None
    if not data:
        raise Refused(f"{path} is empty")
    if not _NAME.fullmatch(path.name):
        raise Refused(f"'{path.name}': the name of a file to deploy has letters, digits and ._+- only; rename it")
    return Code(path.name, data, _entry(path, entry))


def _entry(path: Path, given: str | None) -> str:
    if path.suffix == ".py":
        entry = FUNCTION if given is None else given
        if not _FUNCTION.fullmatch(entry):
            raise Refused(f"'{entry}' is no function: write {path}:FUNCTION")
        return entry
    if given is None or not _IN_ARCHIVE.fullmatch(given):
        raise Refused(f"{path} is an archive: say which function in it makes the job, {path}:PACKAGE.MODULE:FUNCTION")
    return given


def body_of(code: Code, settings: Settings, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """``before``: the version that is to run now. What the command line has no word for stays as it is there. Raises Refused and
    ConfigError."""
    if settings.interval != "none":
        parse_duration_ms(settings.interval, "--interval")
    parse_duration_ms(settings.checkpoint_timeout, "--checkpoint-timeout")
    parse_duration_ms(settings.min_pause, "--min-pause", least_ms=0)
    tolerable = parse_count(settings.tolerable_failed_checkpoints, "--tolerable-failed-checkpoints")
    for option, directory in (("--checkpoint-dir", settings.checkpoint_dir), ("--staging-dir", settings.staging_dir)):
        if directory is not None and "://" not in directory and not directory.startswith("/"):
            raise Refused(f"{option} {directory}: the platform does not know where you are; give it from the root, or a URL")
    body = dict(before or {})
    checkpointing = dict(body.get("checkpointing", {}))
    return body | {
        "artifact": code.digest,
        "entry": code.entry,
        "parameters": dict(parse_settings(settings.parameters, "--set")),
        "parallelism": settings.parallelism,
        "spares": settings.spares,
        "master": settings.master,
        "spark_conf": dict(parse_settings(settings.conf, "--conf")),
        "allow_non_restored_state": settings.allow_non_restored_state,
        "checkpointing": checkpointing
        | {
            "interval": settings.interval,
            "timeout": settings.checkpoint_timeout,
            "min_pause": settings.min_pause,
            "tolerable_failed_checkpoints": tolerable,
            "retained": settings.retained,
            "directory": settings.checkpoint_dir,
            "staging_directory": settings.staging_dir,
        },
    }


def is_same(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """All that ``wanted`` says is so ``there``, which may say more."""
    return all(
        name in there
        and (is_same(value, there[name]) if isinstance(value, dict) and name == "checkpointing" else value == there[name])
        for name, value in wanted.items()
    )
