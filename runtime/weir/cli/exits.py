"""Exit codes that scripts can trust."""

from __future__ import annotations

from enum import IntEnum

from weir.kernel.effects import Outcome


class Exit(IntEnum):
    """Documented in docs/cli.md."""

    OK = 0
    """The job finished, or was suspended with a final checkpoint."""
    JOB_FAILED = 1
    USAGE = 2
    """Nothing was started: a wrong argument, job file, graph, setting or checkpoint."""
    SUPERSEDED = 3
    """Another process runs the job now; this one has stopped for good."""
    CANCELED = 4
    DAMAGED = 5
    """``weir checkpoints ... verify`` found damage."""


OF_OUTCOME = {
    Outcome.FINISHED: Exit.OK,
    Outcome.SUSPENDED: Exit.OK,
    Outcome.FAILED: Exit.JOB_FAILED,
    Outcome.SUPERSEDED: Exit.SUPERSEDED,
    Outcome.CANCELED: Exit.CANCELED,
}
