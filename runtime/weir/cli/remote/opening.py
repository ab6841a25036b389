"""What most commands begin with: a client for the platform that is known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from weir.cli.logs import tell
from weir.cli.remote import place
from weir.cli.remote.client import Client


@contextmanager
def opened(at: place.Place | None = None) -> Iterator[Client]:
    """Raises NoPlatform, Refused."""
    client = Client(at or place.find(os.environ))
    client.http.on_outage = lambda why: tell(f"  the platform does not answer ({why}); trying again")
    try:
        yield client
    finally:
        client.close()
