"""Checkpoints that users name by path.

Weir does not trust these checkpoints, so it only reads them, and only below the allowed roots.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId
from weir.storage.checkpoint_import import ExternalCheckpoint, find_external_checkpoint
from weir.storage.inspection import VerifyReport, verify
from weir.storage.location import locate_job
from weir_backend.recovery.external_path import is_within


@dataclass(frozen=True, slots=True)
class VerifiedCheckpoint:
    foreign: ExternalCheckpoint
    report: VerifyReport


def find(path: str, checkpoint: int | None, *, job: str, allowed: Iterable[str]) -> VerifiedCheckpoint:
    """Find and verify the checkpoint. If ``checkpoint`` is None, find the newest checkpoint of the current branch. ``allowed`` comes from
    ``recovery.external_path.allowed_roots``. Raises ConfigError, CheckpointError, StorageError."""
    _refuse_outside(path, allowed)
    foreign = find_external_checkpoint(locate_job(path), CheckpointId(checkpoint) if checkpoint is not None else None, job=job)
    return VerifiedCheckpoint(foreign, verify(foreign.location.storage, foreign.location.layout, foreign.record.checkpoint))


def _refuse_outside(path: str, allowed: Iterable[str]) -> None:
    """Raise ConfigError if the path, or the target of a link in it, is outside the allowed roots.

    A worker makes this check, because the API possibly cannot resolve the links in the path.
    """
    within = [root for root in allowed if is_within(path, root)]
    if not within:
        raise ConfigError(f"{path} is not below a location that this installation allows (WEIR_RESTORE_ROOTS)")
    if path.startswith("/"):
        real = os.path.realpath(path)
        if not any(is_within(real, os.path.realpath(root)) for root in allowed if root.startswith("/")):
            raise ConfigError(f"{path} is a link to a location that this installation does not allow (WEIR_RESTORE_ROOTS)")
