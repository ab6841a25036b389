"""The start point of a run. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunStart:
    """The start point of a run. If ``checkpoint`` is set, the run starts from the checkpoint with this number. If ``checkpoint`` is 0, the run
    starts without state and abandons every branch. If ``path`` is set, the run starts from a copy of an external checkpoint, like ``weir run
    --from-path``. If neither ``checkpoint`` nor ``path`` is set, the run starts from the newest checkpoint of the current branch, or without
    state if the branch has no checkpoint. ``revoke_unknown_output`` has the meaning of the option ``weir run --revoke-unknown-output``."""

    checkpoint: int | None = None
    path: str | None = None
    revoke_unknown_output: bool = False


@dataclass(frozen=True, slots=True)
class RequestedStart:
    """The start point that a plan requests for the next runs of a job. Runs with a number above ``after_run`` start from ``checkpoint`` or
    ``path`` (see ``RunStart``). After a run with a number above ``after_run`` has reached RUNNING, later runs resume from the newest
    checkpoint."""

    checkpoint: int | None
    after_run: int
    path: str | None = None


def next_start(requested: RequestedStart | None, *, is_done: bool) -> RunStart:
    """Return the start point of the next run. ``is_done`` is True if a run with a number above ``requested.after_run`` has reached RUNNING."""
    return RunStart() if requested is None or is_done else RunStart(requested.checkpoint, requested.path)
