"""Where a run starts. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunStart:
    """Where a run starts. If ``checkpoint`` is set, the run starts from this checkpoint, or without state if it is 0, which abandons every branch.
    If ``path`` is set, the run starts from a copy of an external checkpoint, like ``weir run --from-path``. If neither is set, it starts from the
    newest checkpoint of the current branch, or without state if there is none."""

    checkpoint: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class RequestedStart:
    """Where a plan wants the next run to start. The runs after run ``after_run`` start from ``checkpoint`` or ``path`` (see ``RunStart``) until one
    of them has reached RUNNING. Later runs resume from the newest checkpoint."""

    checkpoint: int | None
    after_run: int
    path: str | None = None


def next_start(requested: RequestedStart | None, *, is_done: bool) -> RunStart:
    """Return where the next run starts. ``is_done`` is True if a run after run ``requested.after_run`` has reached RUNNING."""
    return RunStart() if requested is None or is_done else RunStart(requested.checkpoint, requested.path)
