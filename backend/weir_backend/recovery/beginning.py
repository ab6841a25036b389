"""Where the runs of a plan begin, as its preview says it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def goes_back(preview: Mapping[str, Any]) -> bool:
    """What was committed is taken back: that needs a permission of its own. Else the job goes on from where it is stopped."""
    return preview["checkpoint"] is not None or preview["origin"] is not None or bool(preview["anew"])


def is_in_storage(preview: Mapping[str, Any]) -> bool:
    """Files have to be there and whole, so they are verified before the job is stopped."""
    return preview["checkpoint"] is not None or preview["origin"] is not None


def next_start(preview: Mapping[str, Any], after_run: int) -> dict[str, Any] | None:
    """See ``Job.next_start``. None: with the newest checkpoint, as ever."""
    if not goes_back(preview):
        return None
    if preview["origin"] is not None:
        return {
            "checkpoint": None,
            "path": f"{preview['origin']}#{preview['inspection']['origin']['checkpoint']}",
            "after_run": after_run,
        }
    return {"checkpoint": 0 if preview["anew"] else preview["checkpoint"], "after_run": after_run}
