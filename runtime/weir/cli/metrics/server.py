"""One page for who has the token. A thread of its own; it never touches the job, only looks at it."""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog

from weir.errors import ConfigError

TOKEN = "WEIR_METRICS_TOKEN"
PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
TOKEN_CHARACTERS_MIN = 16
REQUEST_S_MAX = 5.0
"""Who has not got its answer by then is hung up on, however steadily it sends."""
CONNECTIONS_MAX = 16

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MetricsOptions:
    """``port`` 0: a free one, which the log tells."""

    host: str
    port: int
    token: str = field(repr=False)


def take_options(address: str | None, environment: MutableMapping[str, str]) -> MetricsOptions | None:
    """``address``: of ``--metrics``, HOST:PORT. The token is taken out of ``environment``. Raises ConfigError."""
    token = environment.pop(TOKEN, "")
    if address is None:
        return None
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(f"--metrics {address}: write HOST:PORT, such as 127.0.0.1:9400")
    if len(token) < TOKEN_CHARACTERS_MIN or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"--metrics opens a port, and nobody reads it without a token: set {TOKEN} to a word of {TOKEN_CHARACTERS_MIN} characters "
            "or more (openssl rand -hex 24), and give the same one to Prometheus as credentials of type Bearer"
        )
    return MetricsOptions(host.strip("[]"), int(port), token)


class Page:
    """Empty until something is shown."""

    def __init__(self) -> None:
        self.render: Callable[[], bytes] = lambda: b""

    def show(self, render: Callable[[], bytes]) -> None:
        """``render`` is called for each request, in another thread."""
        self.render = render


@contextmanager
def served(options: MetricsOptions | None) -> Iterator[Page]:
    """While the context lasts. Raises ConfigError if the address cannot be had: before anything is started."""
    page = Page()
    if options is None:
        yield page
        return
    try:
        server = _Server(options, page)
    except OSError as error:
        raise ConfigError(f"--metrics {options.host}:{options.port}: {error.strerror or error}; choose another address") from None
    thread = threading.Thread(target=server.serve_forever, name="weir-metrics", daemon=True)
    thread.start()
    log.info("metrics can be read", address=f"http://{options.host}:{server.server_port}{PATH}")
    try:
        yield page
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    """A thread for each connection, so that who has no token keeps nobody waiting; more than a few at once are hung up on."""

    daemon_threads = True

    def __init__(self, options: MetricsOptions, page: Page) -> None:
        self.expected = f"Bearer {options.token}".encode()
        self.page = page
        self.address_family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        self._room = threading.BoundedSemaphore(CONNECTIONS_MAX)
        super().__init__((options.host, options.port), _Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return self._room.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        patience = threading.Timer(REQUEST_S_MAX, _hang_up, (request,))
        patience.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            patience.cancel()
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("who asked for metrics went away", exc_info=True)


def _hang_up(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "weir", ""

    def do_GET(self) -> None:
        if not hmac.compare_digest(self.headers.get("Authorization", "").encode("latin-1", "replace"), self.server.expected):
            self._answer(HTTPStatus.UNAUTHORIZED, b"the token is missing or wrong\n", "text/plain; charset=utf-8")
        elif self.path.partition("?")[0] != PATH:
            self._answer(HTTPStatus.NOT_FOUND, f"there is only {PATH}\n".encode(), "text/plain; charset=utf-8")
        else:
            self._answer(HTTPStatus.OK, self.server.page.render(), CONTENT_TYPE)

    def _answer(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        self.send_response(status)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        log.debug("metrics were asked for", request=format % arguments)
