"""Exit codes of the command ``weir``. docs/cli.md documents them."""

from __future__ import annotations

from enum import IntEnum

from weir.errors import WeirError
from weir.kernel.effects import JobOutcome


class Exit(IntEnum):
    OK = 0
    """The job finished, or was suspended with a final checkpoint.

    For commands that call the API, the request succeeded or, without ``--wait``, was accepted.
    """
    JOB_FAILED = 1
    """The job failed, an operation failed, or an operation did not end within ``--timeout``."""
    USAGE = 2
    """Nothing was started: an argument, job file, graph, setting or checkpoint is invalid, or the API refused the request."""
    CHANGES = 2
    """``weir apply --dry-run`` or ``weir diff -f`` found changes. If one of these commands fails, it exits with JOB_FAILED."""
    SUPERSEDED = 3
    """Another driver has taken over the job. This command has stopped its driver, and does not start the job again."""
    CANCELED = 4
    """The job stopped without a final checkpoint, the user answered no, or the user interrupted a wait."""
    DAMAGED = 5
    """``weir checkpoints DIR verify`` found damaged or missing files."""
    UNREACHABLE = 6
    """The API does not respond."""
    NOT_ALLOWED = 7
    """The token is not valid, or its permissions do not allow the request."""


class CommandError(WeirError):
    """An error that ends a command with the exit code ``exit``."""

    exit: Exit = Exit.USAGE


def exit_code_of(error: WeirError) -> Exit:
    return error.exit if isinstance(error, CommandError) else Exit.USAGE


EXIT_OF_OUTCOME = {
    JobOutcome.FINISHED: Exit.OK,
    JobOutcome.SUSPENDED: Exit.OK,
    JobOutcome.FAILED: Exit.JOB_FAILED,
    JobOutcome.SUPERSEDED: Exit.SUPERSEDED,
    JobOutcome.CANCELED: Exit.CANCELED,
}
