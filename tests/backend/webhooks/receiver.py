"""A receiver of webhook messages: an HTTP server on localhost that records messages and returns configured statuses."""

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
    """The names of the headers are in lower case."""
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def message_id(self) -> str:
        return self.headers["webhook-id"]


class Receiver:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.statuses: list[int] = [200]
        """The status codes of the responses, in order. If there are more requests than codes, the last code applies to the
        remaining requests."""
        self.headers: dict[str, str] = {}
        """Additional headers of all responses."""
        self.silent = False
        """If true, the receiver sends no responses."""
        self.endless = False
        """If true, the receiver sends headers without end."""
        self._closed = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/weir?of=tests"

    def close(self) -> None:
        self._closed.set()
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
                    receiver._closed.wait()
                    return
                if receiver.endless:
                    self._drip()
                    return
                status = receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
                self.send_response(status)
                for name, value in {"Content-Length": "0", **receiver.headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def _drip(self) -> None:
                """Send single bytes so often that the client's timeout for the next byte never expires."""
                try:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
                    while not receiver._closed.wait(0.02):
                        self.wfile.write(b"x")
                except OSError:
                    pass  # the client has closed the connection

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing, because tests read ``received``."""

        return Handler


@contextmanager
def receiver(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    created = Receiver(tls)
    try:
        yield created
    finally:
        created.close()


def is_signed(message: Received, key: bytes, *, now_s: float | None = None, tolerance_s: float = 300.0) -> bool:
    """Check the signature and the age of a message, as docs/control-plane.md tells receivers to do."""
    at = message.headers["webhook-timestamp"]
    if abs((time.time() if now_s is None else now_s) - int(at)) > tolerance_s:
        return False
    signed = f"{message.message_id}.{at}.".encode() + message.content
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, one) for one in message.headers.get("webhook-signature", "").split(" "))
