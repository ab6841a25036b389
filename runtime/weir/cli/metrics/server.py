"""One page for who has the token. A thread of its own; it never touches the job, only looks at it."""

from __future__ import annotations

import errno
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
from weir.protocol.metrics_address import TOKEN_CHARACTERS_MIN, MetricsAddress, is_token, parse_address

TOKEN = "WEIR_METRICS_TOKEN"
PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_S_MAX = 5.0
"""Who has not got its answer by then is hung up on, however steadily it sends."""
CONNECTIONS_MAX = 16

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MetricsOptions:
    """Which of its ports it is, the log tells."""

    address: MetricsAddress
    token: str = field(repr=False)


def take_options(address: str | None, environment: MutableMapping[str, str]) -> MetricsOptions | None:
    """``address``: of ``--metrics``, see ``parse_address``. The token is taken out of ``environment``. Raises ConfigError."""
    token = environment.pop(TOKEN, "")
    if address is None:
        return None
    try:
        found = parse_address(address)
    except ConfigError as error:
        raise ConfigError(f"--metrics {error}") from None
    if not is_token(token):
        raise ConfigError(
            f"--metrics opens a port, and nobody reads it without a token: set {TOKEN} to a word of {TOKEN_CHARACTERS_MIN} characters "
            "or more (openssl rand -hex 24), and give the same one to Prometheus as credentials of type Bearer"
        )
    return MetricsOptions(found, token)


class Page:
    """Empty until something is shown."""

    def __init__(self) -> None:
        self.render: Callable[[], bytes] = lambda: b""
        self.port: int | None = None
        """None: it is not served."""

    def show(self, render: Callable[[], bytes]) -> None:
        """``render`` is called for each request, in another thread."""
        self.render = render


@contextmanager
def served(options: MetricsOptions | None, *, courtesy: bool = False) -> Iterator[Page]:
    """While the context lasts. Raises ConfigError if the address cannot be had: before anything is started. ``courtesy``: nobody is there to
    choose another address, and what matters is the job; so it is only told, and the job goes on without."""
    page = Page()
    if options is None:
        yield page
        return
    try:
        server = _listening(options, page)
    except ConfigError as error:
        if not courtesy:
            raise
        log.warning("metrics cannot be read, the job goes on without", reason=str(error))
        yield page
        return
    page.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, name="weir-metrics", daemon=True)
    thread.start()
    log.info("metrics can be read", address=f"http://{_host(options)}:{server.server_port}{PATH}")
    try:
        yield page
    finally:
        server.shutdown()
        server.server_close()


def _listening(options: MetricsOptions, page: Page) -> _Server:
    """At the first port that can be had. Raises ConfigError."""
    address = options.address
    why: OSError | None = None
    for port in range(address.port, address.port + address.ports):
        try:
            return _Server(options, port, page)
        except OSError as error:
            why = error
            if error.errno != errno.EADDRINUSE:
                break
    assert why is not None
    shown = f"{address.port}-{address.port + address.ports - 1}" if address.ports > 1 else f"{address.port}"
    raise ConfigError(f"--metrics {_host(options)}:{shown}: {why.strerror or why}; choose another address")


def _host(options: MetricsOptions) -> str:
    return f"[{options.address.host}]" if ":" in options.address.host else options.address.host


class _Server(ThreadingHTTPServer):
    """A thread for each connection, so that who has no token keeps nobody waiting; more than a few at once are hung up on."""

    daemon_threads = True

    def __init__(self, options: MetricsOptions, port: int, page: Page) -> None:
        self.expected = f"Bearer {options.token}".encode()
        self.page = page
        self.address_family = socket.AF_INET6 if ":" in options.address.host else socket.AF_INET
        self._room = threading.BoundedSemaphore(CONNECTIONS_MAX)
        super().__init__((options.address.host, port), _Handler)

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
