"""HTTP requests to the API, with retries, and event streams that reconnect."""

from __future__ import annotations

import json as json_
import random
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weir.cli.client.credentials import Endpoint
from weir.cli.client.errors import NotAllowed, Refused, Unreachable
from weir.cli.extras import installed_version

if TYPE_CHECKING:
    import httpx2

API = "/api/v1"
CONNECT_S = 5.0
RESPONSE_S = 30.0
"""The timeout of a response, in seconds. The API's own timeout for its database is shorter."""
RETRY_S = 3.0
"""The number of seconds for which a failing request is retried."""
RETRY_WHILE_WAITING_S = 60.0
"""The number of seconds for which a failing request is retried while a command waits. A restart of the API takes less time than
RETRY_WHILE_WAITING_S.
"""
PAUSE_S, PAUSE_S_MAX = 0.1, 2.0
STREAM_PAUSE_S = 0.2
KEY = "Idempotency-Key"
_TEMPORARY = frozenset({502, 503, 504})
_BUSY = "idempotency-key-busy"
"""The API returns this problem code while an earlier request with the same idempotency key is still running."""


class HttpClient:
    """An HTTP client for use in one thread. The client does not follow redirects, because a redirect could leak the token."""

    def __init__(self, endpoint: Endpoint, *, retry_s: float = RETRY_S, on_outage: Callable[[str], None] | None = None) -> None:
        """When a request fails for the first time inside ``long_retries``, the client calls ``on_outage`` with the reason."""
        import httpx2

        self.endpoint = endpoint
        self.retry_s = retry_s
        self.on_outage = on_outage
        headers = {"Accept": "application/json", "User-Agent": f"weir/{installed_version()}"}
        if endpoint.token:
            headers["Authorization"] = f"Bearer {endpoint.token}"
        self._httpx = httpx2
        self._client = httpx2.Client(
            base_url=endpoint.url,
            headers=headers,
            timeout=httpx2.Timeout(RESPONSE_S, connect=CONNECT_S),
            trust_env=not endpoint.is_local,
        )

    def close(self) -> None:
        self._client.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> httpx2.Response:
        """Send a request and return the successful response. ``path`` is relative to ``/api/v1``.

        A failing GET or PUT is retried. A failing POST is also retried, because it has an idempotency key. With ``once``, a POST
        is not retried, because its response contains a secret. Raises Refused, NotAllowed, Unreachable.
        """
        all_headers = dict(headers or {})
        if method == "POST" and not once:
            all_headers.setdefault(KEY, secrets.token_hex(16))
        request = self._client.build_request(method, API + path, params=params, json=json, content=content, headers=all_headers)
        response = self._send(request, repeatable=method in ("GET", "PUT") or KEY in all_headers)
        if response.is_success:
            return response
        raise self._error_of(response)

    def _send(self, request: httpx2.Request, *, repeatable: bool) -> httpx2.Response:
        failing_since: float | None = None
        pause_s = PAUSE_S
        while True:
            response: httpx2.Response | None = None
            try:
                response = self._client.send(request)
                if not (repeatable and _is_temporary(response)):
                    return response
                reason = f"status {response.status_code}"
            except (self._httpx.ConnectError, self._httpx.ConnectTimeout) as error:
                # The request was not sent, so any request can be retried.
                reason = _reason(error)
            except self._httpx.HTTPError as error:
                reason = _reason(error)
                if not repeatable:
                    raise Unreachable(
                        f"The platform at {self.endpoint.url} did not respond ({reason}). The request may have succeeded. Check "
                        "before you retry."
                    ) from None
            now = time.monotonic()
            if failing_since is None:
                failing_since = now
                if self.on_outage is not None and self.retry_s > RETRY_S:
                    self.on_outage(reason)
            if now + pause_s > failing_since + self.retry_s:
                if response is not None:
                    return response
                raise _unreachable(self.endpoint, reason)
            time.sleep(max(pause_s, _retry_after_s(response)) * random.uniform(0.8, 1.2))
            pause_s = min(2 * pause_s, PAUSE_S_MAX)

    @contextmanager
    def stream(self, path: str, *, params: Mapping[str, str | int], headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
        """Open a streaming GET. Raises Refused, NotAllowed, Unreachable.

        If reading the response fails inside the ``with`` block, httpx2 raises its own error.
        """
        timeout = self._httpx.Timeout(RESPONSE_S, connect=CONNECT_S)
        try:
            with self._client.stream("GET", API + path, params=params, headers=dict(headers), timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    raise self._error_of(response)
                yield response
        except (self._httpx.ConnectError, self._httpx.ConnectTimeout) as error:
            raise _unreachable(self.endpoint, _reason(error)) from None

    def _error_of(self, response: httpx2.Response) -> Refused | Unreachable:
        status = response.status_code
        problem = _problem_of(response)
        if problem is None:
            if status in _TEMPORARY:
                return _unreachable(self.endpoint, f"status {status}")
            return Unreachable(
                f"The response of {self.endpoint.url} (status {status}) is not from Weir's API. Check the address and any proxy."
            )
        detail, code = str(problem.get("detail") or problem.get("title") or f"Status {status}"), str(problem.get("code", ""))
        next_step = str(problem.get("next_step") or "")
        if status == 401 and self.endpoint.token:
            next_step = f"Log in again: weir login --url {self.endpoint.url}"
        message = _sentences(detail, next_step)
        if status in (401, 403):
            return NotAllowed(message, status=status, code=code)
        if status >= 500:
            return Unreachable(f"The platform at {self.endpoint.url} cannot serve this request now. {message}")
        return Refused(message, status=status, code=code, invalid=_invalid_fields(problem))


def _invalid_fields(problem: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the paths of the invalid fields in the body of the request, and their problems."""
    errors = problem.get("errors")
    found = [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    return [(str(one.get("where", "")).removeprefix("body."), str(one.get("what", ""))) for one in found]


def _sentences(detail: str, next_step: str) -> str:
    """Join a problem's detail and next step. If necessary, add a full stop after the detail and capitalize the next step."""
    if not next_step:
        return detail
    return f"{detail.rstrip('.')}. {next_step[0].upper()}{next_step[1:]}"


def _is_temporary(response: httpx2.Response) -> bool:
    if response.status_code == 409:
        problem = _problem_of(response)
        return problem is not None and problem.get("code") == _BUSY
    return response.status_code in _TEMPORARY


def _problem_of(response: httpx2.Response) -> dict[str, Any] | None:
    """Return the problem document, or None if the response does not come from the API."""
    if not response.headers.get("content-type", "").startswith("application/problem+json"):
        return None
    try:
        content = response.json()
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _retry_after_s(response: httpx2.Response | None) -> float:
    value = response.headers.get("retry-after", "") if response is not None else ""
    return min(float(value), PAUSE_S_MAX) if value.isascii() and value.isdigit() else 0.0


def _unreachable(endpoint: Endpoint, reason: str) -> Unreachable:
    next_step = "Run weir doctor." if endpoint.is_local else "Check that the platform is running and that the address is right."
    return Unreachable(f"The platform at {endpoint.url} does not respond ({reason}). {next_step}")


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__


# ---- server-sent events ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """``kind`` is the name of a server-sent event. ``data`` is the event's JSON."""

    kind: str
    data: dict[str, Any]


def stream_events(
    http: HttpClient, path: str, *, after: int | None, retry_s: float = RETRY_WHILE_WAITING_S
) -> Generator[ServerEvent, None, None]:
    """Yield events without end. After a disconnect, resume after the last event, so that no event is lost or repeated.

    ``after`` is the id of the last event that the caller knows. If ``after`` is None, yield only new events.

    Raises Refused, NotAllowed. Raises Unreachable if no connection succeeds for ``retry_s`` seconds.
    """
    import httpx2

    last_id = str(after) if after is not None else ""
    connected_at = time.monotonic()
    pause_s = STREAM_PAUSE_S
    while True:
        reason = "the stream ended"
        connected = False
        try:
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
            with http.stream(path, params={}, headers=headers) as response:
                connected = True
                for message in httpx2.EventSource(response):
                    pause_s = STREAM_PAUSE_S
                    # Some messages contain an id but no event. Remember the ids of these messages, too, because a new connection
                    # sends the last id that this client has received.
                    last_id = message.id or last_id
                    if message.data:
                        yield ServerEvent(message.event, json_.loads(message.data))
        except (httpx2.HTTPError, Unreachable) as error:
            reason = _reason(error)
        if connected:
            connected_at = time.monotonic()  # the API ends each stream after some minutes
        elif time.monotonic() - connected_at > retry_s:
            raise Unreachable(f"Lost the connection to {http.endpoint.url}: {reason}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, PAUSE_S_MAX)
