"""Compute the start point of the runs of a plan from the preview of the plan. Pure. A preview that an older version of Weir has stored can lack
the keys ``path`` and ``without_state``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def revokes_output(preview: Mapping[str, Any]) -> bool:
    """Return whether the plan revokes committed output. A plan that revokes committed output needs the permission `rollback`. With a plan that
    does not revoke output, the job resumes from its newest checkpoint."""
    return preview["checkpoint"] is not None or preview.get("path") is not None or bool(preview.get("without_state"))


def restores_from_storage(preview: Mapping[str, Any]) -> bool:
    """Return whether the plan restores a checkpoint whose files must be verified before the job is stopped."""
    return preview["checkpoint"] is not None or preview.get("path") is not None


def next_start(preview: Mapping[str, Any], after_run: int) -> dict[str, Any] | None:
    """Return the value of ``Job.next_start``, which is None if the job resumes from its newest checkpoint."""
    if not revokes_output(preview):
        return None
    if preview.get("path") is not None:
        return {
            "checkpoint": None,
            "path": f"{preview['path']}#{preview['inspection']['external_checkpoint']['checkpoint']}",
            "after_run": after_run,
        }
    return {"checkpoint": 0 if preview.get("without_state") else preview["checkpoint"], "after_run": after_run}
