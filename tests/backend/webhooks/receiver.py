"""A receiver of messages: real HTTP on loopback, keeps what it gets, and answers as it is told to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    """By name in small letters."""
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def message_id(self) -> str:
        return self.headers["webhook-id"]


class Receiver:
    """``answers``: statuses, one for each message, the last for all that follow. ``silent``: nothing is answered. ``endless``: the answer
    begins, and its headers never end."""

    def __init__(self, trust: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.answers: list[int] = [200]
        self.headers: dict[str, str] = {}
        self.silent = False
        self.endless = False
        self._over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if trust is not None:
            self._server.socket = trust.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/weir?of=tests"

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def bodies(self) -> list[Any]:
        return [one.body for one in self.received]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append(
                    Received(self.path, {name.lower(): value for name, value in self.headers.items()}, content)
                )
                if receiver.silent:
                    receiver._over.wait()
                    return
                if receiver.endless:
                    self._drip()
                    return
                status = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
                self.send_response(status)
                for name, value in {"Content-Length": "0", **receiver.headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def _drip(self) -> None:
                """Never silent for long enough for somebody who only waits for the next byte."""
                try:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
                    while not receiver._over.wait(0.02):
                        self.wfile.write(b"x")
                except OSError:
                    pass  # nobody listens any more

            def log_message(self, format: str, *args: Any) -> None:
                """Tests read what matters from ``received``."""

        return Handler


@contextmanager
def receiver(trust: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    made = Receiver(trust)
    try:
        yield made
    finally:
        made.close()


def is_signed(message: Received, key: bytes, *, now_s: float | None = None, tolerance_s: float = 300.0) -> bool:
    """What docs/control-plane.md tells receivers to do."""
    at = message.headers["webhook-timestamp"]
    if abs((time.time() if now_s is None else now_s) - int(at)) > tolerance_s:
        return False
    signed = f"{message.message_id}.{at}.".encode() + message.content
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(wanted, one) for one in message.headers.get("webhook-signature", "").split(" "))
