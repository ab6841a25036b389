"""Exit codes that scripts can trust."""

from __future__ import annotations

from enum import IntEnum

from weir.errors import WeirError
from weir.kernel.effects import Outcome


class Exit(IntEnum):
    """Documented in docs/cli.md."""

    OK = 0
    """The job finished, or was suspended with a final checkpoint. At a platform: it is done, or on its way if nobody waits."""
    JOB_FAILED = 1
    """Also: an operation of a platform failed, or was not done in the time that somebody was ready to wait."""
    USAGE = 2
    """Nothing was started: a wrong argument, job file, graph, setting or checkpoint, or the platform refused it."""
    SUPERSEDED = 3
    """Another process runs the job now; this one has stopped for good."""
    CANCELED = 4
    DAMAGED = 5
    """``weir checkpoints ... verify`` found damage."""
    UNREACHABLE = 6
    """The platform does not answer."""
    NOT_ALLOWED = 7
    """The platform does not know who is calling, or he may not do this."""


class CommandError(WeirError):
    """Ends a command with a code of its own."""

    exit: Exit = Exit.USAGE


def exit_of(error: WeirError) -> Exit:
    return error.exit if isinstance(error, CommandError) else Exit.USAGE


OF_OUTCOME = {
    Outcome.FINISHED: Exit.OK,
    Outcome.SUSPENDED: Exit.OK,
    Outcome.FAILED: Exit.JOB_FAILED,
    Outcome.SUPERSEDED: Exit.SUPERSEDED,
    Outcome.CANCELED: Exit.CANCELED,
}
