"""``weir logs``: what drivers say on their standard error, read piece by piece."""

from __future__ import annotations

import codecs
import contextlib
import json
import time

import typer

from weir.cli.logs import tell
from weir.cli.output import Output
from weir.cli.remote.client import Client
from weir.cli.remote.errors import Refused
from weir.cli.remote.naming import find_job
from weir.cli.remote.opening import opened
from weir.cli.remote.shapes import Job
from weir.cli.remote.telling import clock_of, harmless_if_seen

PIECE_BYTES = 256 << 10
LOOK_EVERY_S = 1.0
_OWN = frozenset({"event", "level", "timestamp", "logger"})


def show(name: str, lines: int, *, follow: bool, output: Output) -> None:
    with opened() as client, contextlib.suppress(*([KeyboardInterrupt] if follow else [])):
        job = find_job(client, name)
        if job["run"] is None and not follow:
            raise Refused(f"job '{job['name']}' has not run yet: {job['why'] or 'it waits for somebody to start it'}")
        _show(client, job, lines, follow=follow, output=output)


def _show(client: Client, job: Job, lines: int, *, follow: bool, output: Output) -> None:
    run = job["run"]
    reading = _Reading(client, run["id"], output) if run is not None else None
    if reading is not None:
        reading.tail(lines)
    with client.patient():
        while follow:
            # The job first: what its run has said until then is in the log.
            job = client.job(job["id"])
            newest = job["run"]
            if reading is not None:
                reading.rest()
            if newest is not None and (reading is None or newest["id"] != reading.run_id):
                tell(f"run {newest['number']} of job '{job['name']}' ({newest['cause']})")
                reading = _Reading(client, newest["id"], output)
                continue
            if _is_over(job):
                return
            time.sleep(LOOK_EVERY_S)


def _is_over(job: Job) -> bool:
    """Nothing more will be said unless a person does something."""
    run = job["run"]
    if run is not None and run["ended_at"] is None:
        return False
    return job["desired_state"] != "RUNNING" or job["state"] == "FINISHED" or job["health"] == "needs a person"


class _Reading:
    """Of the log of one run, from one place to the next, in whole lines."""

    def __init__(self, client: Client, run_id: int, output: Output) -> None:
        self.run_id = run_id
        self._client = client
        self._output = output
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._begun = ""

    def tail(self, lines: int) -> None:
        """The last ones, as far as one piece goes back."""
        data, size, following = self._client.log(self.run_id, -PIECE_BYTES)
        self._offset = following
        whole = self._lines(data)
        if size > len(data):
            whole = whole[1:]  # its beginning is not there
        self._print(whole[-lines:] if lines else [])

    def rest(self) -> None:
        while True:
            data, size, following = self._client.log(self.run_id, self._offset)
            if self._offset > size:
                tell("(the log was cut at its beginning here)")
            self._offset = following
            self._print(self._lines(data))
            if following >= size:
                return

    def _lines(self, data: bytes) -> list[str]:
        text = self._begun + self._decoder.decode(data)
        *whole, self._begun = text.split("\n")
        return whole

    def _print(self, lines: list[str]) -> None:
        for line in lines:
            typer.echo(line if self._output is Output.JSON else harmless_if_seen(readable(line)))


def readable(line: str) -> str:
    """A line of a driver's log for people: drivers write JSON, and others in their process write what they like."""
    try:
        said = json.loads(line)
    except ValueError:
        return line
    if not isinstance(said, dict) or "event" not in said:
        return line
    more = " ".join(f"{name}={_value(value)}" for name, value in said.items() if name not in _OWN)
    return f"{_clock(said.get('timestamp'))} {said.get('level', ''):<8} {said['event']}  {more}".rstrip()


def _clock(timestamp: object) -> str:
    try:
        return clock_of(str(timestamp))
    except ValueError:
        return str(timestamp)


def _value(value: object) -> str:
    return value if isinstance(value, str) and " " not in value else json.dumps(value)
