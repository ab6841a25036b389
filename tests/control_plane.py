"""A control plane for tests, which uses the protocol of the control link over real HTTP, keeps everything in memory, and fails on
request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from weir.protocol.events import Command, Event, NumberedCommand, NumberedEvent, decode_batch, encode_commands
from weir.protocol.ids import CommandId

TOKEN = "run-token-for-tests"


_PROBLEM = b'{"type": "urn:weir:problem:'


def _problem(code: str) -> bytes:
    return _PROBLEM + f'{code}", "code": "{code}"}}'.encode()


class ControlPlane:
    """``url``: the address of the only run of this control plane. ``down``: whether the control plane
    closes connections without an answer.

    ``status``: if set, every answer has this status, and its body is a problem with ``code``. If ``code`` is None, the answers
    look as if another server listened on the port.
    """

    def __init__(self) -> None:
        self.events: list[NumberedEvent] = []
        self.gaps = 0
        self.posts = 0
        self.down = False
        self.status: int | None = None
        self.code: str | None = None
        self.silent = False
        """Whether the control plane accepts requests without answering them."""
        self._commands: list[NumberedCommand] = []
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/api/v1/runs/r1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with self._changed:
            self.down = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def command(self, command: Command) -> CommandId:
        with self._changed:
            given = NumberedCommand(CommandId(len(self._commands) + 1), command)
            self._commands.append(given)
            self._changed.notify_all()
            return given.id

    def seen(self) -> list[Event]:
        with self._changed:
            return [one.event for one in self.events]

    def wait_for(self, accept: Callable[[list[Event]], bool], *, timeout_s: float = 300.0) -> list[Event]:
        """Return the received events once ``accept`` accepts them."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: accept([one.event for one in self.events]), timeout_s)
            seen = [one.event for one in self.events]
        assert arrived, f"after {timeout_s} s only these events have arrived: {seen}"
        return seen

    # ---- requests --------------------------------------------------------------------------------

    def _post_events(self, query: dict[str, str], body: bytes) -> tuple[int, bytes]:
        batch = decode_batch(body)
        with self._changed:
            last = self.events[-1].number if self.events else 0
            if batch[0].number != int(query["first"]):
                return 400, b"{}"
            if batch[0].number > last + 1:
                if int(query["oldest"]) <= last + 1:
                    return 409, json.dumps({"stored": last}).encode()
                self.gaps += 1
            self.events += [event for event in batch if event.number > last]
            self._changed.notify_all()
            return 200, json.dumps({"stored": self.events[-1].number}).encode()

    def _get_commands(self, query: dict[str, str]) -> tuple[int, bytes]:
        after = int(query["after"])
        with self._changed:
            self._changed.wait_for(lambda: self.down or len(self._commands) > after, float(query["wait_s"]))
            return 200, encode_commands(self._commands[after:])

    def _answer(self, method: str, path: str, token: str, body: bytes) -> tuple[int, bytes] | None:
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with self._changed:
            self.posts += method == "POST"
            self._changed.notify_all()
            if self.silent:
                self._changed.wait_for(lambda: self.down)
        if self.down:
            return None
        if self.status is not None:
            return self.status, b'{"detail": "as told"}' if self.code is None else _problem(self.code)
        if token != f"Bearer {TOKEN}":
            return 401, _problem("unauthenticated")
        match method, parts.path.removeprefix("/api/v1/runs/r1"):
            case "POST", "/events":
                return self._post_events(query, body)
            case "GET", "/commands":
                return self._get_commands(query)
        return 404, b"{}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        control_plane = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer = control_plane._answer(self.command, self.path, self.headers.get("Authorization", ""), body)
                if answer is None or control_plane.down:
                    self.close_connection = True
                    return
                self.send_response(answer[0])
                is_problem = answer[1].startswith(_PROBLEM)
                self.send_header("Content-Type", "application/problem+json" if is_problem else "application/json")
                self.send_header("Content-Length", str(len(answer[1])))
                self.end_headers()
                self.wfile.write(answer[1])

            do_GET = do_POST = _serve  # http.server calls these methods

            def log_message(self, format: str, *args: Any) -> None:
                """Tests check ``events`` instead."""

        return Handler


@contextmanager
def control_plane() -> Iterator[ControlPlane]:
    made = ControlPlane()
    try:
        yield made
    finally:
        made.close()
