"""``weir logs`` shows the logs of a job's drivers, and ``weir events`` shows the job's event log."""

from __future__ import annotations

import codecs
import contextlib
import json
import time
from typing import Annotated, Any

import typer

from weir.cli.client.api import ApiClient, find_job, open_client
from weir.cli.client.errors import Refused
from weir.cli.client.http import stream_events
from weir.cli.client.schemas import JobRead
from weir.cli.logs import print_message
from weir.cli.options import JobArgument
from weir.cli.output import OutputFormat, OutputOption, clock_of, print_json, sanitized, sanitized_for_terminal, time_of

CHUNK_BYTES = 256 << 10
POLL_EVERY_S = 1.0
_STANDARD_FIELDS = frozenset({"event", "level", "timestamp", "logger"})
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new entries until Ctrl-C.")]


def add_to(app: typer.Typer) -> None:
    app.command("events")(events)
    app.command("logs")(logs)


# ---- weir events -------------------------------------------------------------------------------


def events(
    name: JobArgument,
    follow: Follow = False,
    limit: Annotated[int, typer.Option(min=0, max=100_000, help="Number of past events.")] = 50,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Show the events of a job, oldest first. With --follow, JSON output is one object per line."""
    with open_client() as client, contextlib.suppress(*([KeyboardInterrupt] if follow else [])):
        job = find_job(client, name)
        found = list(reversed(client.events(job["id"], limit))) if limit else []
        if output is OutputFormat.JSON and not follow:
            print_json(found)
            return
        for event in found:
            _print_event(event, output)
        if follow:
            _follow_events(client, job, found[-1]["number"] if found else None, output)
        elif not found:
            typer.echo(f"Job '{job['name']}' has no events yet.")


def _follow_events(client: ApiClient, job: JobRead, after: int | None, output: OutputFormat) -> None:
    for message in stream_events(client.http, f"/jobs/{job['id']}/events/stream", after=after):
        # The stream also contains updates for pages of the web UI.
        if message.kind == "event":
            _print_event(message.data, output)


def _print_event(event: Any, output: OutputFormat) -> None:
    if output is OutputFormat.JSON:
        typer.echo(json.dumps(event))
        return
    fields = ", ".join(f"{name} {_text_of(value)}" for name, value in event["fields"].items() if value not in (None, ""))
    typer.echo(f"{event['number']:>6}  {time_of(event['at'])}  {event['kind']:<20}  {sanitized(fields)}".rstrip())


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# ---- weir logs ---------------------------------------------------------------------------------


def logs(
    name: JobArgument,
    follow: Follow = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="Number of past lines.")] = 200,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Show the log of the driver of a job's newest run. JSON output contains the unchanged lines of the log."""
    with open_client() as client, contextlib.suppress(*([KeyboardInterrupt] if follow else [])):
        job = find_job(client, name)
        if job["run"] is None and not follow:
            raise Refused(no_log(job))
        _print_logs(client, job, lines, follow=follow, output=output)


def no_log(job: JobRead) -> str:
    """Return the error message for a job without runs."""
    reason = f" {job['health_reason']}" if job["health_reason"] else ""
    return f"Job '{job['name']}' has no log, because it has not run yet.{reason}"


def _print_logs(client: ApiClient, job: JobRead, lines: int, *, follow: bool, output: OutputFormat) -> None:
    run = job["run"]
    reader = _LogReader(client, run["id"], output) if run is not None else None
    if reader is not None:
        reader.print_tail(lines)
    with client.long_retries():
        while follow:
            # Read the job's state before the log. If this state says that the run has ended, the log is complete.
            job = client.job(job["id"])
            newest = job["run"]
            if reader is not None:
                reader.print_rest()
            if newest is not None and (reader is None or newest["id"] != reader.run_id):
                print_message(f"Run {newest['number']} of job '{job['name']}' ({newest['cause']})")
                reader = _LogReader(client, newest["id"], output)
                continue
            if _has_ended(job):
                return
            time.sleep(POLL_EVERY_S)


def _has_ended(job: JobRead) -> bool:
    """Return whether the run has ended and Weir will not start another run by itself."""
    run = job["run"]
    if run is not None and run["ended_at"] is None:
        return False
    return job["desired_state"] != "RUNNING" or job["state"] == "FINISHED" or job["health"] == "needs_attention"


class _LogReader:
    """Reads the log of one run in chunks and prints complete lines."""

    def __init__(self, client: ApiClient, run_id: int, output: OutputFormat) -> None:
        self.run_id = run_id
        self._client = client
        self._output = output
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._incomplete = ""

    def print_tail(self, lines: int) -> None:
        """Print the last ``lines`` lines of the log, or fewer if the last chunk of the log contains fewer lines."""
        data, size, next_offset = self._client.log(self.run_id, -CHUNK_BYTES)
        self._offset = next_offset
        complete = self._complete_lines(data)
        if size > len(data):
            complete = complete[1:]  # the chunk starts inside a line
        self._print(complete[-lines:] if lines else [])

    def print_rest(self) -> None:
        while True:
            data, size, next_offset = self._client.log(self.run_id, self._offset)
            if self._offset > size:
                print_message("(the log was truncated here)")
            self._offset = next_offset
            self._print(self._complete_lines(data))
            if next_offset >= size:
                return

    def _complete_lines(self, data: bytes) -> list[str]:
        text = self._incomplete + self._decoder.decode(data)
        *complete, self._incomplete = text.split("\n")
        return complete

    def _print(self, lines: list[str]) -> None:
        for line in lines:
            typer.echo(line if self._output is OutputFormat.JSON else sanitized_for_terminal(format_line(line)))


def format_line(line: str) -> str:
    """Format a JSON line of a driver's log as text. Return any other line unchanged, for example output of user code."""
    try:
        entry = json.loads(line)
    except ValueError:
        return line
    if not isinstance(entry, dict) or "event" not in entry:
        return line
    fields = " ".join(f"{name}={_quoted(value)}" for name, value in entry.items() if name not in _STANDARD_FIELDS)
    return f"{_clock(entry.get('timestamp'))} {entry.get('level', ''):<8} {entry['event']}  {fields}".rstrip()


def _clock(timestamp: object) -> str:
    try:
        return clock_of(str(timestamp))
    except ValueError:
        return str(timestamp)


def _quoted(value: object) -> str:
    return value if isinstance(value, str) and " " not in value else json.dumps(value)
