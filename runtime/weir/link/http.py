"""Requests to the control plane, and what their answers mean. Only the standard library: executors load this package, too.

    POST <url>/events?first=N&oldest=N    a batch of events      200 {"stored": N} | 409 {"stored": N}: a hole
    GET  <url>/commands?after=N&wait_s=S  commands above N       200 [[id, "Kind", {...}], ...]

``url`` is the run's own (``https://weir.example/api/v1/runs/<run>``). Each request bears the run's token.

That the run is not wanted any more is believed only to a control plane: an ``application/problem+json`` with one of its codes. A proxy in
between, or whoever has its port while it is away, may answer 401, 404 or 410 as well, and is asked again.
"""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field

from weir.errors import ConfigError, ProtocolError
from weir.link.delivery import Answer, Hole, NoAnswer, Post, Refused, Stored, TooLarge
from weir.protocol.events import NumberedCommand, decode_commands
from weir.protocol.ids import CommandId, EventNumber

TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 4 << 20
PROBLEM = "application/problem+json"
_FINAL = {
    (401, "unauthenticated"): Refused("its token is not valid"),
    (404, "no-run"): Refused("there is no such run"),
    (410, "fenced"): Refused("the job was taken from it", taken=True),
    (410, "over"): Refused("the run is over"),
}
"""By status and code. What is not in here may be otherwise the next time."""


@dataclass(frozen=True, slots=True)
class LinkAddress:
    """Of one run at the control plane. Raises ConfigError for a URL that is none. ``token`` shows in no representation."""

    url: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ConfigError(f"'{self.url}' is no address of a run: write https://HOST[:PORT]/PATH")
        if not self.token or not self.token.isascii() or not self.token.isprintable():
            raise ConfigError("the token of a run is a word of printable ASCII characters")


@dataclass(frozen=True, slots=True)
class Commands:
    """``why``: there is no answer, and what to say of it; ``refused``: nor will there be one."""

    commands: Sequence[NumberedCommand] = ()
    why: str | None = None
    refused: Refused | None = None


class LinkClient:
    """One connection, kept open; for one thread. ``abort`` ends a request that waits, from any thread."""

    def __init__(self, address: LinkAddress) -> None:
        self._parts = urllib.parse.urlsplit(address.url)
        self._headers = {"Authorization": f"Bearer {address.token}", "Accept": "application/json"}
        self._connection: http.client.HTTPConnection | None = None
        self._aborted = False

    def post(self, batch: Post) -> Answer:
        try:
            status, body, headers = self._request(
                "POST", f"/events?first={batch.first}&oldest={batch.oldest}", batch.body, timeout_s=TIMEOUT_S
            )
        except (OSError, http.client.HTTPException) as error:
            return NoAnswer(_reason(error))
        if status in (200, 409):
            stored = _stored(body)
            if stored is None:
                return NoAnswer(f"its answer ({status}) makes no sense")
            return Stored(stored) if status == 200 else Hole(stored)
        code = _problem_code(body, headers)
        if status == 413:
            return TooLarge(for_good=code is not None)
        refusal = _FINAL.get((status, code or ""))
        if refusal is not None:
            return refusal
        return NoAnswer(_unexpected(status, code), _retry_after_ms(headers))

    def commands(self, *, after: CommandId, wait_s: float) -> Commands:
        try:
            status, body, headers = self._request(
                "GET", f"/commands?after={after}&wait_s={wait_s:g}", None, timeout_s=wait_s + TIMEOUT_S
            )
        except (OSError, http.client.HTTPException) as error:
            return Commands(why=_reason(error))
        code = _problem_code(body, headers)
        refusal = _FINAL.get((status, code or ""))
        if refusal is not None:
            return Commands(why=refusal.reason, refused=refusal)
        if status != 200:
            return Commands(why=_unexpected(status, code))
        try:
            return Commands([one for one in decode_commands(body) if one.id > after])
        except ProtocolError as error:
            return Commands(why=str(error))

    def abort(self) -> None:
        self._aborted = True
        connection = self._connection
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(2)
            except OSError:
                pass  # it is closed already

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(
        self, method: str, path: str, body: bytes | None, *, timeout_s: float
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        """Raises OSError, HTTPException: the connection is closed then, and the next request opens another."""
        if self._aborted:
            raise OSError("the line is closed")
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        try:
            connection.timeout = timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            headers = self._headers if body is None else self._headers | {"Content-Type": "application/json"}
            connection.request(method, self._parts.path.rstrip("/") + path, body, headers)
            answer = connection.getresponse()
            data = answer.read(ANSWER_BYTES_MAX + 1)
            if len(data) > ANSWER_BYTES_MAX:
                raise http.client.HTTPException(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
            return answer.status, data, answer.headers
        except BaseException:
            self.close()
            raise

    def _connect(self) -> http.client.HTTPConnection:
        assert self._parts.hostname is not None
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(self._parts.hostname, self._parts.port, context=ssl.create_default_context())
        return http.client.HTTPConnection(self._parts.hostname, self._parts.port)


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _problem_code(body: bytes, headers: http.client.HTTPMessage) -> str | None:
    """None: it is no problem as a control plane tells it."""
    if headers.get_content_type() != PROBLEM:
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    code = value.get("code") if isinstance(value, dict) else None
    return code if isinstance(code, str) else None


def _unexpected(status: int, code: str | None) -> str:
    return (
        f"it answers {status}" if code is not None or status >= 500 else f"it answers {status}, and not as a control plane does"
    )


def _stored(body: bytes) -> EventNumber | None:
    """None: the answer does not say."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    stored = value.get("stored") if isinstance(value, dict) else None
    return EventNumber(stored) if type(stored) is int and stored >= 0 else None


def _retry_after_ms(headers: http.client.HTTPMessage) -> int:
    given = headers.get("Retry-After", "")
    return min(int(given), 300) * 1_000 if given.isdecimal() else 0
