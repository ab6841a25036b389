"""Jobs and what they are to do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from weir.cli.checkpointing import (
    CHECKPOINT_TIMEOUT,
    INTERVAL,
    MIN_PAUSE,
    RETAINED,
    TOLERABLE_FAILED_CHECKPOINTS,
    CheckpointTimeout,
    Interval,
    MinPause,
    Retained,
    TolerableFailedCheckpoints,
)
from weir.cli.output import Output, OutputOption
from weir.cli.remote.commands.options import JobName, Timeout, Wait, Yes, seconds

NONE: list[str] = []


class UpgradeMode(StrEnum):
    SAVEPOINT = "savepoint"
    LAST_STATE = "last-state"


def add_to(app: typer.Typer) -> None:
    app.command("deploy")(deploy)
    app.command("jobs")(jobs)
    app.command("status")(status)
    app.command("wait")(wait)
    app.command("start")(start)
    app.command("suspend")(suspend)
    app.command("cancel")(cancel)
    app.command("delete")(delete)
    app.command("savepoint")(savepoint)
    app.command("trigger")(trigger)


def deploy(
    target: Annotated[
        str, typer.Argument(metavar="FILE[:FUNCTION]", help="JOB.py, JOB.py:function, or ARCHIVE.whl:package.module:function")
    ],
    name: Annotated[str, typer.Option(help="Of the job at the platform")],
    settings: Annotated[
        list[str], typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the job; may be repeated")
    ] = NONE,
    parallelism: Annotated[
        int, typer.Option(min=1, help="Slots, and subtasks of every operator that does not say otherwise")
    ] = 2,
    master: Annotated[str, typer.Option(help="Spark master: local, spark://host:port, yarn, k8s://...")] = "local",
    interval: Interval = INTERVAL,
    checkpoint_timeout: CheckpointTimeout = CHECKPOINT_TIMEOUT,
    min_pause: MinPause = MIN_PAUSE,
    tolerable_failed_checkpoints: TolerableFailedCheckpoints = TOLERABLE_FAILED_CHECKPOINTS,
    retained: Retained = RETAINED,
    checkpoint_dir: Annotated[
        str | None, typer.Option(help="Where checkpoints go, seen from the platform; default: a directory of its own")
    ] = None,
    staging_dir: Annotated[
        str | None, typer.Option(help="Where rows of Spark queries are staged, if checkpoints are in an object store")
    ] = None,
    conf: Annotated[list[str], typer.Option("--conf", metavar="NAME=VALUE", help="A Spark setting; may be repeated")] = NONE,
    spares: Annotated[int, typer.Option(min=0, help="Warm slots kept ready beyond the parallelism")] = 0,
    allow_non_restored_state: Annotated[
        bool, typer.Option("--allow-non-restored-state", help="Leave behind state of operators that the graph no longer has")
    ] = False,
    mode: Annotated[
        UpgradeMode,
        typer.Option(help="How a job that runs is upgraded: with a last checkpoint, or at once and from the newest one there is"),
    ] = UpgradeMode.SAVEPOINT,
    description: Annotated[str | None, typer.Option(help="Of the job, for people")] = None,
    comment: Annotated[str, typer.Option(help="On this version, such as a commit")] = "",
    no_start: Annotated[bool, typer.Option("--no-start", help="Keep the version, and start nothing")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Until it runs; exit code 1 if it does not come to that")] = False,
    timeout: Timeout = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Make a file a job of the platform, or a new version of one. The same file with the same options again changes nothing.

    An option that is not given has its default, whatever the job has now.
    """
    from weir.cli.remote import doing, source
    from weir.cli.remote.deploying import Wanted

    wanted = Wanted(
        name=name,
        code=source.read_code(target),
        settings=source.Settings(
            parameters=settings,
            parallelism=parallelism,
            master=master,
            interval=interval,
            retained=retained,
            checkpoint_dir=checkpoint_dir,
            staging_dir=staging_dir,
            conf=conf,
            spares=spares,
            allow_non_restored_state=allow_non_restored_state,
            checkpoint_timeout=checkpoint_timeout,
            min_pause=min_pause,
            tolerable_failed_checkpoints=tolerable_failed_checkpoints,
        ),
        mode=mode.value,
        description=description,
        comment=comment,
        start=not no_start,
    )
    doing.deploy(wanted, wait=wait, timeout_s=seconds(timeout), output=output)


def jobs(output: OutputOption = Output.TEXT) -> None:
    """List all jobs."""
    from weir.cli.remote import showing

    showing.jobs(output)


def status(job: JobName, output: OutputOption = Output.TEXT) -> None:
    """How a job is doing: state, health and why, run, last checkpoint, operators, what is being done to it."""
    from weir.cli.remote import status as status_

    status_.show(job, output)


def wait(
    job: JobName,
    checkpoint: Annotated[
        bool, typer.Option("--checkpoint", help="And until its newest run has completed a checkpoint since it runs")
    ] = False,
    timeout: Timeout = "5m",
    output: OutputOption = Output.TEXT,
) -> None:
    """Wait until a job is well: it runs, or its input has ended. Exit code 1 if it needs a person, or the time is over."""
    from weir.cli.remote import doing

    doing.wait(job, checkpoint=checkpoint, timeout_s=seconds(timeout), output=output)


def start(job: JobName, wait: Wait = False, timeout: Timeout = None, output: OutputOption = Output.TEXT) -> None:
    """Run it, from its newest checkpoint if there is one. Also ends the waiting of a job that has failed."""
    from weir.cli.remote import doing

    doing.verb(job, "start", wait=wait, timeout_s=seconds(timeout), output=output)


def suspend(job: JobName, wait: Wait = False, timeout: Timeout = None, output: OutputOption = Output.TEXT) -> None:
    """Stop it with a last checkpoint, from which it goes on when it is started."""
    from weir.cli.remote import doing

    doing.verb(job, "suspend", wait=wait, timeout_s=seconds(timeout), output=output)


def cancel(job: JobName, wait: Wait = False, timeout: Timeout = None, output: OutputOption = Output.TEXT) -> None:
    """Stop it at once: started again, it repeats what came after its newest checkpoint."""
    from weir.cli.remote import doing

    doing.verb(job, "cancel", wait=wait, timeout_s=seconds(timeout), output=output)


def savepoint(job: JobName, wait: Wait = False, timeout: Timeout = None, output: OutputOption = Output.TEXT) -> None:
    """Take a checkpoint that is kept until somebody deletes it. With --wait its number is printed."""
    from weir.cli.remote import doing

    doing.verb(job, "savepoint", wait=wait, timeout_s=seconds(timeout), output=output)


def trigger(job: JobName, wait: Wait = False, timeout: Timeout = None, output: OutputOption = Output.TEXT) -> None:
    """Take a checkpoint now, not when the next one is due. With --wait its number is printed."""
    from weir.cli.remote import doing

    doing.verb(job, "checkpoint", wait=wait, timeout_s=seconds(timeout), output=output)


def delete(job: JobName, yes: Yes = False, output: OutputOption = Output.TEXT) -> None:
    """Forget a job that does not run. Its checkpoints and its output stay where they are."""
    from weir.cli.remote import doing

    doing.delete(job, yes=yes, output=output)
