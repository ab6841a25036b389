"""``weir profile`` takes a profile of a slot and prints its stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weir.cli.client.api import find_job, open_client
from weir.cli.client.errors import Refused
from weir.cli.commands.waiting import Deadline, wait_for_operation
from weir.cli.logs import print_message
from weir.cli.options import JobArgument, TimeoutOption, timeout_s
from weir.cli.output import OutputFormat, OutputOption, print_json, sanitized
from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.profiles import PROFILE_SECONDS_DEFAULT, PROFILE_SECONDS_MAX, SlotProfile, collapsed_stacks


def add_to(app: typer.Typer) -> None:
    app.command()(profile)


def profile(
    name: JobArgument,
    slot: Annotated[int, typer.Option(min=0, help="Number of the slot. Slot N runs the subtasks with the index N.")],
    seconds: Annotated[
        int, typer.Option(min=1, max=PROFILE_SECONDS_MAX, help="Duration of the profile.")
    ] = PROFILE_SECONDS_DEFAULT,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Write the stacks to this file instead of standard output."),
    ] = None,
    timeout: TimeoutOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Count which Python functions a slot runs, and print collapsed stacks, which flamegraph.pl and speedscope read."""
    deadline = Deadline(timeout_s(timeout))
    with open_client() as client:
        job = find_job(client, name)
        operation = client.verb(job["id"], "profiles", {"slot": slot, "seconds": seconds})
        operation = wait_for_operation(client, job, operation, deadline)
        found = client.profile(operation["id"])
    if output is OutputFormat.JSON:
        print_json(found)
        return
    try:
        taken = codec.from_json(SlotProfile, found)
    except ProtocolError as error:
        raise Refused(f"Cannot read the profile: {error}. Install the weir version of the platform.") from None
    lines = [sanitized(line) for line in collapsed_stacks(taken)]
    if file is None:
        for line in lines:
            typer.echo(line)
    else:
        try:
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        except OSError as error:
            raise Refused(f"Cannot write {file}: {error.strerror or error}.") from None
    dropped = f", {taken.dropped_samples} dropped" if taken.dropped_samples else ""
    print_message(f"{taken.samples} samples of slot {slot} of job '{job['name']}'{dropped}.")
