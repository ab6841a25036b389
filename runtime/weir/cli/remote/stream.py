"""Following a stream of server-sent events: after a break it goes on behind the last one, so none is missed and none comes twice."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from weir.cli.remote.client import WAITING_S
from weir.cli.remote.errors import Unreachable
from weir.cli.remote.http import PAUSE_S_MAX, Http

PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class Told:
    """``kind``: of the server's message. ``data``: its JSON."""

    kind: str
    data: dict[str, Any]


def follow(http: Http, path: str, *, after: int | None, patience_s: float = WAITING_S) -> Generator[Told, None, None]:
    """``after``: id of the last message that is known; None: from now on. Never ends by itself.

    Raises Refused, NotAllowed, and Unreachable once nothing could be had for ``patience_s``.
    """
    import httpx2

    last = str(after) if after is not None else ""
    heard = time.monotonic()
    pause_s = PAUSE_S
    while True:
        why = "it has ended the stream"
        opened = False
        try:
            with http.stream(
                path, params={}, headers={"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
            ) as answer:
                opened = True
                for message in httpx2.EventSource(answer):
                    pause_s = PAUSE_S
                    # A comment may bring an id, too: where to go on if nothing has come yet.
                    last = message.id or last
                    if message.data:
                        yield Told(message.event, json.loads(message.data))
        except (httpx2.HTTPError, Unreachable) as error:
            why = str(error) or type(error).__name__
        if opened:
            heard = time.monotonic()  # it ends streams after some minutes, and who follows comes again
        elif time.monotonic() - heard > patience_s:
            raise Unreachable(f"the platform at {http.place.url} does not answer any more: {why}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, PAUSE_S_MAX)
