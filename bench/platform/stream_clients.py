"""Clients of many event streams, in a separate process, so that reading does not slow down the drivers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

OPEN_S_MAX = 60.0
REST_S_MAX = 30.0
"""A stream must deliver the last event within this time after the event was stored. An event that takes longer than
``REST_S_MAX`` counts as lost."""


@dataclass(frozen=True, slots=True)
class StreamedEvent:
    """An event that arrived on a stream. ``run_event``: the number of the event in its run, or None for an event of the
    control plane. ``at_s``: time of arrival (monotonic)."""

    number: int
    run_event: int | None
    at_s: float


@dataclass(slots=True)
class StreamRecord:
    """A stream and its events. ``after``: the number of the last event before the stream was opened."""

    job_id: int
    after: int
    events: list[StreamedEvent] = field(default_factory=list)
    ended: str | None = None
    """Why the server ended the stream. None means that the server did not end the stream."""

    def find_error(self, last: int) -> str | None:
        numbers = [one.number for one in self.events]
        if numbers == list(range(self.after + 1, last + 1)):
            return None
        missing = set(range(self.after + 1, last + 1)) - set(numbers)
        return f"a stream of job {self.job_id} delivered {len(numbers)} of {last - self.after} events, {len(missing)} missing" + (
            f" ({self.ended})" if self.ended else ""
        )


class StreamClients:
    """A handle for the client process. All streams are open. ``finish`` waits until the streams reach the given event numbers,
    and returns the streams with their events."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def finish(self, last: dict[int, int]) -> list[StreamRecord]:
        self._connection.send(last)
        if not self._connection.poll(REST_S_MAX + 30):
            raise SystemExit("The stream client process does not answer.")
        found: list[StreamRecord] = self._connection.recv()
        return found


@contextmanager
def open_streams(url: str, token: str, streams: Sequence[StreamRecord]) -> Iterator[StreamClients]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run_clients, args=(url, token, list(streams), theirs), daemon=True)
    process.start()
    try:
        if not ours.poll(OPEN_S_MAX) or ours.recv() != "open":
            raise SystemExit(f"Cannot open {len(streams)} streams within {OPEN_S_MAX:.0f} s.")
        yield StreamClients(ours)
    finally:
        process.terminate()
        process.join()


def _run_clients(url: str, token: str, streams: list[StreamRecord], connection: Connection) -> None:
    asyncio.run(_read_all(url, token, streams, connection))


async def _read_all(url: str, token: str, streams: list[StreamRecord], connection: Connection) -> None:
    news = asyncio.Event()
    begun = [asyncio.Event() for _ in streams]
    tasks = [
        asyncio.create_task(_read_stream(url, token, stream, event, news)) for stream, event in zip(streams, begun, strict=True)
    ]
    await asyncio.gather(*(event.wait() for event in begun))
    connection.send("open")
    last: dict[int, int] = await asyncio.to_thread(connection.recv)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(_until_reached(streams, last, news), REST_S_MAX)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    connection.send(streams)


async def _until_reached(streams: list[StreamRecord], last: dict[int, int], news: asyncio.Event) -> None:
    while not all(_reached(stream, last[stream.job_id]) for stream in streams):
        news.clear()
        await news.wait()


def _reached(stream: StreamRecord, last: int) -> bool:
    return stream.ended is not None or bool(stream.events and stream.events[-1].number >= last) or stream.after >= last


async def _read_stream(url: str, token: str, stream: StreamRecord, begun: asyncio.Event, news: asyncio.Event) -> None:
    """Read one stream to its end. Sets ``begun`` once the stream is open or has failed. Sets ``news`` on each
    message and when the stream ends. All streams share the event ``news``."""
    try:
        async for message in _messages(url, token, stream):
            begun.set()
            _record(stream, message)
            news.set()
        stream.ended = "the server closed it"
    except (OSError, asyncio.IncompleteReadError, ValueError) as error:
        stream.ended = f"{type(error).__name__}: {error}"
    finally:
        begun.set()
        news.set()


async def _messages(url: str, token: str, stream: StreamRecord) -> AsyncIterator[bytes]:
    host = urlsplit(url)
    reader, writer = await asyncio.open_connection(host.hostname, host.port)
    try:
        path = f"/api/v1/jobs/{stream.job_id}/events/stream?after={stream.after}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host.netloc}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise ValueError(f"the API answered {head.splitlines()[0].decode(errors='replace')}")
        assert b"transfer-encoding: chunked" in head.lower()
        rest = b""
        while size := int(await reader.readline(), 16):
            rest += (await reader.readexactly(size + 2))[:-2]
            *whole, rest = rest.split(b"\n\n")
            for message in whole:
                yield message
    finally:
        writer.close()


def _record(stream: StreamRecord, message: bytes) -> None:
    """Record a message of kind ``event``. Other messages (``run``, ``progress``, comments) are ignored."""
    at_s = time.monotonic()
    fields = dict(line.split(b": ", 1) for line in message.splitlines() if b": " in line and not line.startswith(b":"))
    if fields.get(b"event") == b"event":
        body = json.loads(fields[b"data"])
        stream.events.append(StreamedEvent(int(fields[b"id"]), body["run_event"], at_s))
