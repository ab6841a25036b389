"""From what a person calls a job to the job."""

from __future__ import annotations

from difflib import get_close_matches

from weir.cli.remote.client import Client
from weir.cli.remote.errors import Refused
from weir.cli.remote.shapes import Job


def find_job(client: Client, wanted: str) -> Job:
    """By its name, else by its id. Raises Refused with what comes close."""
    job = job_or_none(client, wanted)
    if job is None:
        raise Refused(f"there is no job '{wanted}' at {client.place.url}{_instead(client, wanted)}", status=404, code="no-job")
    return job


def job_or_none(client: Client, wanted: str) -> Job | None:
    found = client.job_named(wanted)
    if found is not None or not (wanted.isascii() and wanted.isdigit() and len(wanted) <= 18 and int(wanted) > 0):
        return found
    try:
        return client.job(int(wanted))
    except Refused as error:
        if error.status == 404:
            return None
        raise


def _instead(client: Client, wanted: str) -> str:
    names = [job["name"] for job in client.jobs()]
    if not names:
        return ": there are no jobs yet; weir deploy makes one"
    by_lower = {name.lower(): name for name in names}
    close = [by_lower[name] for name in get_close_matches(wanted.lower(), by_lower, n=3, cutoff=0.6)]
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return "; weir jobs lists those there are"
