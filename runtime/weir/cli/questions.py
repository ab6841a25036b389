"""What is asked before a run leaves something behind."""

from __future__ import annotations

import sys
from collections.abc import Collection

import typer

from weir.api.job import Job
from weir.cli.exits import Exit
from weir.cli.logs import tell
from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId


def confirm_leaving(
    job: Job, left: Collection[CheckpointId], what: str, *, yes: bool, question: str = "Go back?"
) -> frozenset[CheckpointId]:
    """Show what is abandoned, and ask, unless that is nothing; these checkpoints. ``what`` is followed by their numbers.

    Raises ConfigError where nobody can be asked, typer.Exit if the answer is no.
    """
    if not left:
        return frozenset()
    revocable: list[str] = []
    others: list[str] = []
    for uid, sink in job.sinks().items():
        (revocable if sink.committer().revocable else others).append(uid)
    tell(f"{what}: {', '.join(str(one) for one in sorted(left))}")
    if revocable:
        tell(f"  taken back from readers (an undo brings it back): {', '.join(revocable)}")
    if others:
        tell(f"  cannot be taken back, readers will see these records twice: {', '.join(others)}")
    tell("  nothing is deleted: the abandoned checkpoints can be restored with --from")
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError("nobody is there to be asked: add --yes if this is what you want")
        agree(question)
    return frozenset(left)


def agree(question: str) -> None:
    """Raises typer.Exit if the answer is no, or none."""
    try:
        agreed = typer.confirm(question, default=False, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise typer.Exit(Exit.CANCELED)
