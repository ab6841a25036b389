"""Check the paths from which users restore external checkpoints. Only the text of a path is checked, because the API does not read storage.

If every path were allowed, a caller with the permission `operate` could find out which files exist on the hosts of the workers and in
the buckets that the workers can read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from weir_backend.kit.schemas import storable_text

_PATH = re.compile(r"(?:(?P<store>[a-z][a-z0-9]*://[^/\s]+))?(?P<path>(?:/[^/]+)*/?)")
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f?#%\\]")
PATH_CHARACTERS_MAX = 1_000


def _checked(text: str) -> str:
    match = _PATH.fullmatch(text)
    if match is None or not text or text.startswith("file://"):
        raise ValueError("Write a directory, such as /srv/checkpoints/job, or an object store, such as s3://bucket/prefix.")
    if _FORBIDDEN.search(text):
        raise ValueError("The path must not contain control characters or any of ? # % \\.")
    if any(part in (".", "..") for part in match["path"].split("/")):
        raise ValueError("The path must not contain '.' or '..'.")
    return text.rstrip("/") or "/"


CheckpointPath = Annotated[
    str, StringConstraints(min_length=1, max_length=PATH_CHARACTERS_MAX), AfterValidator(storable_text), AfterValidator(_checked)
]
"""The path or URL at which workers reach a checkpoint directory, without a ``/`` at the end."""


def allowed_roots(data_dir: Path, more: Iterable[str]) -> tuple[str, ...]:
    """Return the directories whose checkpoints users may restore: the checkpoint directory of the platform, and the directories in ``more``."""
    return (posixpath.normpath(str(data_dir / "checkpoints")), *more)


def is_within(path: str, root: str) -> bool:
    """Return whether ``path`` is ``root`` or below it. ``path`` and ``root`` have the form of ``CheckpointPath``."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")
