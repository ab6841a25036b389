"""Checkpoints that users name by path. What is there was written by who knows whom: it is only read, and only below the places allowed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId
from weir.storage.importing import Foreign, find_foreign
from weir.storage.inspection import VerifyReport, verify
from weir.storage.places import locate
from weir_backend.recovery.elsewhere import is_within


@dataclass(frozen=True, slots=True)
class Found:
    foreign: Foreign
    report: VerifyReport


def look(path: str, checkpoint: int | None, *, job: str, allowed: Iterable[str]) -> Found:
    """``checkpoint`` None: the newest. ``allowed``: as ``recovery.elsewhere.roots`` says. Raises ConfigError, CheckpointError, StorageError."""
    _refuse_ways_out(path, allowed)
    foreign = find_foreign(locate(path), CheckpointId(checkpoint) if checkpoint is not None else None, job=job)
    return Found(foreign, verify(foreign.place.storage, foreign.place.layout, foreign.record.checkpoint))


def _refuse_ways_out(path: str, allowed: Iterable[str]) -> None:
    """The text was judged where it came in. Where it really leads only this machine knows."""
    within = [root for root in allowed if is_within(path, root)]
    if not within:
        raise ConfigError(f"{path} is at no place that the installation allows")
    if path.startswith("/"):
        real = os.path.realpath(path)
        if not any(is_within(real, os.path.realpath(root)) for root in allowed if root.startswith("/")):
            raise ConfigError(f"{path} leads by a link to a place that the installation does not allow")
