"""Where a run starts. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunStart:
    """Where a run starts. ``checkpoint`` 0: without state; every branch is abandoned. ``path``: from a copy of another checkpoint, as ``weir run
    --from-path``. Neither: from the newest checkpoint of the current branch, or without state if there is none."""

    checkpoint: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class RequestedStart:
    """Runs after number ``after_run`` start from ``checkpoint`` or ``path`` (see ``RunStart``) until one of them has run; from then on, the newest
    checkpoint is the right one. Two runs may start so, if the first one dies before it completes a checkpoint."""

    checkpoint: int | None
    after_run: int
    path: str | None = None


def next_start(wanted: RequestedStart | None, *, has_gone_back: bool) -> RunStart:
    """``has_gone_back``: any run after number ``wanted.after_run`` has reached RUNNING."""
    return RunStart() if wanted is None or has_gone_back else RunStart(wanted.checkpoint, wanted.path)
