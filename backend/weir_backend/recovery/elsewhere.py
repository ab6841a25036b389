"""Checkpoints that are named by a path: which of them this installation may be made to look into. Text only: the API never looks itself.

Else whoever may operate jobs could learn what is on the machines of the workers, and in every bucket that these can read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from weir_backend.kit.forms import without_nul

_PATH = re.compile(r"(?:(?P<store>[a-z][a-z0-9]*://[^/\s]+))?(?P<path>(?:/[^/]+)*/?)")
_STRANGE = re.compile(r"[\x00-\x1f\x7f?#%\\]")
PATH_CHARACTERS_MAX = 1_000


def _checked(text: str) -> str:
    match = _PATH.fullmatch(text)
    if match is None or not text or text.startswith("file://"):
        raise ValueError("write a directory as /srv/checkpoints/job, or an object store as s3://bucket/prefix")
    if _STRANGE.search(text):
        raise ValueError("it has a control character, or one of ? # % \\")
    if any(part in (".", "..") for part in match["path"].split("/")):
        raise ValueError("it goes up or stays ('.', '..'): name the directory itself")
    return text.rstrip("/") or "/"


PathElsewhere = Annotated[
    str, StringConstraints(min_length=1, max_length=PATH_CHARACTERS_MAX), AfterValidator(without_nul), AfterValidator(_checked)
]
"""Of a directory of checkpoints, seen from the workers, without a ``/`` at its end."""


def roots(data_dir: Path, more: Iterable[str]) -> tuple[str, ...]:
    """Where checkpoints may be looked for: those that the installation keeps itself, and ``more``."""
    return (posixpath.normpath(str(data_dir / "checkpoints")), *more)


def is_within(path: str, root: str) -> bool:
    """Both as ``PathElsewhere`` has them. A store is its own world: ``s3://bucket`` is within no directory."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")
