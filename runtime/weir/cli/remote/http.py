"""Requests to the API: repeated while that is safe and may help, and every answer that is no success told in one sentence."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from weir.cli.remote.errors import NotAllowed, Refused, Unreachable
from weir.cli.remote.place import Place

if TYPE_CHECKING:
    import httpx2

API = "/api/v1"
CONNECT_S = 5.0
ANSWER_S = 30.0
"""The API gives up on its database earlier than this."""
PATIENCE_S = 3.0
"""How long a request is repeated, if nobody has waited for something else already."""
PAUSE_S, PAUSE_S_MAX = 0.1, 2.0
KEY = "Idempotency-Key"
_NOT_NOW = frozenset({502, 503, 504})
_BUSY = "idempotency-key-busy"
"""The first request with this key is still being served."""


class Http:
    """One connection, kept open; for one thread. Redirects are not followed: they would carry the token elsewhere."""

    def __init__(self, place: Place, *, patience_s: float = PATIENCE_S, on_outage: Callable[[str], None] | None = None) -> None:
        """``on_outage`` is told once, when a request has to be repeated for the first time since the last answer."""
        import httpx2

        from weir.cli.remote.version import user_agent

        self.place = place
        self.patience_s = patience_s
        self.on_outage = on_outage
        headers = {"Accept": "application/json", "User-Agent": user_agent()}
        if place.token:
            headers["Authorization"] = f"Bearer {place.token}"
        self._httpx = httpx2
        self._client = httpx2.Client(
            base_url=place.url,
            headers=headers,
            timeout=httpx2.Timeout(ANSWER_S, connect=CONNECT_S),
            trust_env=not place.is_here,
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
        """``path``: below ``/api/v1``. A GET may be sent again, and so may a POST, which gets a key for that. ``once``: this one may not,
        as its answer holds a secret. Raises Refused, NotAllowed, Unreachable."""
        given = dict(headers or {})
        if method == "POST" and not once:
            given.setdefault(KEY, secrets.token_hex(16))
        sent = self._client.build_request(method, API + path, params=params, json=json, content=content, headers=given)
        repeatable = method == "GET" or KEY in given
        answer = self._send(sent, repeatable=repeatable)
        if answer.is_success:
            return answer
        raise self._refusal(answer)

    def _send(self, request: httpx2.Request, *, repeatable: bool) -> httpx2.Response:
        failing_since: float | None = None
        pause_s = PAUSE_S
        while True:
            answer: httpx2.Response | None = None
            try:
                answer = self._client.send(request)
                if not (repeatable and _is_not_now(answer)):
                    return answer
                why = f"it answers {answer.status_code}"
            except (self._httpx.ConnectError, self._httpx.ConnectTimeout) as error:
                # Nothing was sent, so sending it is no repetition.
                why = _reason(error)
            except self._httpx.HTTPError as error:
                why = _reason(error)
                if not repeatable:
                    raise Unreachable(
                        f"the platform at {self.place.url} has not answered ({why}): whether it has done it is not known; look before you "
                        "try again"
                    ) from None
            now = time.monotonic()
            if failing_since is None:
                failing_since = now
                if self.on_outage is not None and self.patience_s > PATIENCE_S:
                    self.on_outage(why)
            if now + pause_s > failing_since + self.patience_s:
                if answer is not None:
                    return answer
                raise _unreachable(self.place, why)
            time.sleep(max(pause_s, _retry_after_s(answer)) * random.uniform(0.8, 1.2))
            pause_s = min(2 * pause_s, PAUSE_S_MAX)

    @contextmanager
    def stream(self, path: str, *, params: Mapping[str, str | int], headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
        """An answer that goes on for as long as somebody reads it. Raises Refused, NotAllowed, Unreachable.

        While it is read it raises what httpx2 raises: whoever reads knows where to go on."""
        timeout = self._httpx.Timeout(ANSWER_S, connect=CONNECT_S)
        try:
            with self._client.stream("GET", API + path, params=params, headers=dict(headers), timeout=timeout) as answer:
                if not answer.is_success:
                    answer.read()
                    raise self._refusal(answer)
                yield answer
        except (self._httpx.ConnectError, self._httpx.ConnectTimeout) as error:
            raise _unreachable(self.place, _reason(error)) from None

    def _refusal(self, answer: httpx2.Response) -> Refused | Unreachable:
        status = answer.status_code
        problem = _problem_of(answer)
        if problem is None:
            if status in _NOT_NOW:
                return _unreachable(self.place, f"it answers {status}")
            return Unreachable(
                f"{self.place.url} answers {status}, and not as a platform does: is the address right, and is nothing else in between?"
            )
        detail, code = str(problem.get("detail") or problem.get("title") or f"it answers {status}"), str(problem.get("code", ""))
        next_step = str(problem.get("next_step") or "")
        if status == 401 and self.place.token:
            next_step = f"log in again: weir login --url {self.place.url}"
        message = f"{detail}; {next_step}" if next_step else detail
        if status in (401, 403):
            return NotAllowed(message, status=status, code=code)
        if status >= 500:
            return Unreachable(f"the platform at {self.place.url} does not serve this now: {message}")
        return Refused(message, status=status, code=code)


def _is_not_now(answer: httpx2.Response) -> bool:
    if answer.status_code == 409:
        problem = _problem_of(answer)
        return problem is not None and problem.get("code") == _BUSY
    return answer.status_code in _NOT_NOW


def _problem_of(answer: httpx2.Response) -> dict[str, Any] | None:
    """None: whoever has answered is no platform."""
    if not answer.headers.get("content-type", "").startswith("application/problem+json"):
        return None
    try:
        found = answer.json()
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _retry_after_s(answer: httpx2.Response | None) -> float:
    given = answer.headers.get("retry-after", "") if answer is not None else ""
    return min(float(given), PAUSE_S_MAX) if given.isascii() and given.isdigit() else 0.0


def _unreachable(place: Place, why: str) -> Unreachable:
    where = "weir doctor says what is wrong" if place.is_here else "is it up, and is the address right?"
    return Unreachable(f"the platform at {place.url} does not answer ({why}): {where}")


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
