"""HTTP requests to the control plane and the meaning of the responses. This module uses only the standard library, because
executors load it too.

    POST <url>/events?first=N&oldest=N    a batch of events      200 {"stored": N} | 409 {"stored": N}: a gap
    GET  <url>/commands?after=N&wait_s=S  commands above N       200 [[id, "Kind", {...}], ...]

``url`` is the URL of the run (``https://weir.example/api/v1/runs/<run>``). Each request carries the run's token.

A refusal is final only if it comes from a control plane. A refusal by a control plane is an ``application/problem+json`` with
one of the control plane's codes. A response with status 401, 404 or 410, but without a code of the control plane, can come from a
proxy or from another server on the port. After a refusal that is not final, the link retries the request.
"""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field

from weir.errors import ConfigError, ProtocolError
from weir.link.delivery import ControlPlaneUnavailable, EventBatch, Gap, PostResult, RequestTooLarge, RunRefused, Stored
from weir.protocol.events import NumberedCommand, decode_commands
from weir.protocol.ids import CommandId, EventNumber

TIMEOUT_S = 10.0
"""Internal: maximum duration of a request to the control plane. The link retries failed requests. Requests to the control plane
never delay the job."""
RESPONSE_BYTES_MAX = 4 << 20
PROBLEM = "application/problem+json"
_FINAL = {
    (401, "unauthenticated"): RunRefused("the token of this run is invalid"),
    (404, "no-run"): RunRefused("this run does not exist"),
    (410, "fenced"): RunRefused("another driver has taken over the job", fenced=True),
    (410, "over"): RunRefused("this run is over"),
}
"""The refusals that are final, by status and code. After any other refusal, the request is retried."""


@dataclass(frozen=True, slots=True)
class LinkAddress:
    """The address of one run at the control plane. The constructor raises ConfigError if the URL or the token is invalid.
    ``repr`` hides ``token``."""

    url: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ConfigError(f"Invalid run URL '{self.url}'. Write https://HOST[:PORT]/PATH.")
        if not self.token or not self.token.isascii() or not self.token.isprintable():
            raise ConfigError("Invalid run token: it must consist of printable ASCII characters.")


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of a response. ``problem`` is the reason why no commands were received. ``refused`` is set if a retry cannot
    help."""

    commands: Sequence[NumberedCommand] = ()
    problem: str | None = None
    refused: RunRefused | None = None


class LinkClient:
    """One persistent connection, used by one thread. Any thread may call ``abort``, which ends a request that is waiting for
    its response."""

    def __init__(self, address: LinkAddress) -> None:
        self._parts = urllib.parse.urlsplit(address.url)
        self._headers = {"Authorization": f"Bearer {address.token}", "Accept": "application/json"}
        self._connection: http.client.HTTPConnection | None = None
        self._aborted = False

    def post(self, batch: EventBatch) -> PostResult:
        try:
            status, body, headers = self._request(
                "POST", f"/events?first={batch.first}&oldest={batch.oldest}", batch.body, timeout_s=TIMEOUT_S
            )
        except (OSError, http.client.HTTPException) as error:
            return ControlPlaneUnavailable(_error_text(error))
        if status in (200, 409):
            stored = _stored(body)
            if stored is None:
                return ControlPlaneUnavailable(f"invalid response with status {status}")
            return Stored(stored) if status == 200 else Gap(stored)
        code = _problem_code(body, headers)
        if status == 413:
            return RequestTooLarge(permanent=code is not None)
        refusal = _FINAL.get((status, code or ""))
        if refusal is not None:
            return refusal
        return ControlPlaneUnavailable(_status_text(status, code), _retry_after_ms(headers))

    def commands(self, *, after: CommandId, wait_s: float) -> Commands:
        try:
            status, body, headers = self._request(
                "GET", f"/commands?after={after}&wait_s={wait_s:g}", None, timeout_s=wait_s + TIMEOUT_S
            )
        except (OSError, http.client.HTTPException) as error:
            return Commands(problem=_error_text(error))
        code = _problem_code(body, headers)
        refusal = _FINAL.get((status, code or ""))
        if refusal is not None:
            return Commands(problem=refusal.reason, refused=refusal)
        if status != 200:
            return Commands(problem=_status_text(status, code))
        try:
            return Commands([command for command in decode_commands(body) if command.id > after])
        except ProtocolError as error:
            return Commands(problem=str(error))

    def abort(self) -> None:
        self._aborted = True
        connection = self._connection
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(2)
            except OSError:
                pass  # already closed

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(
        self, method: str, path: str, body: bytes | None, *, timeout_s: float
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        """Send a request and return status, body and headers.

        Raise OSError or HTTPException. The connection is then closed, and the next request opens a new connection.
        """
        if self._aborted:
            raise OSError("the control link is closed")
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        try:
            connection.timeout = timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            headers = self._headers if body is None else self._headers | {"Content-Type": "application/json"}
            connection.request(method, self._parts.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            data = response.read(RESPONSE_BYTES_MAX + 1)
            if len(data) > RESPONSE_BYTES_MAX:
                raise http.client.HTTPException(f"a response of more than {RESPONSE_BYTES_MAX} bytes")
            return response.status, data, response.headers
        except BaseException:
            self.close()
            raise

    def _connect(self) -> http.client.HTTPConnection:
        assert self._parts.hostname is not None
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(self._parts.hostname, self._parts.port, context=ssl.create_default_context())
        return http.client.HTTPConnection(self._parts.hostname, self._parts.port)


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _problem_code(body: bytes, headers: http.client.HTTPMessage) -> str | None:
    """Return the control plane's problem code, or None if the response does not come from a control plane."""
    if headers.get_content_type() != PROBLEM:
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    code = value.get("code") if isinstance(value, dict) else None
    return code if isinstance(code, str) else None


def _status_text(status: int, code: str | None) -> str:
    return (
        f"status {status}"
        if code is not None or status >= 500
        else f"status {status}, and the response is not from a control plane"
    )


def _stored(body: bytes) -> EventNumber | None:
    """Return the number of the last stored event, or None if the response does not contain it."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    stored = value.get("stored") if isinstance(value, dict) else None
    return EventNumber(stored) if type(stored) is int and stored >= 0 else None


def _retry_after_ms(headers: http.client.HTTPMessage) -> int:
    value = headers.get("Retry-After", "")
    return min(int(value), 300) * 1_000 if value.isdecimal() else 0
