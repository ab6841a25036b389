"""An API client that retries each request until it gets an answer. Requests that change something carry an idempotency key."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx2

RETRY_S_MAX = 120.0
_RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})


class RetryingClient:
    """``url`` returns the current address of the platform. ``internal_errors`` contains all answers with status 500.

    Status 500 is never correct. 5xx answers other than 500 are correct while a server restarts.
    """

    def __init__(self, url: Callable[[], str], name: str, password: str) -> None:
        self._url = url
        self._login = {"name": name, "password": password}
        self._http = httpx2.Client(timeout=30.0)
        self.internal_errors: list[str] = []
        self._http.headers["Authorization"] = f"Bearer {self.send('POST', '/session', json=self._login)['token']}"

    def send(self, method: str, path: str, **request: Any) -> Any:
        """Return the decoded answer. Raises AssertionError if the request is refused, or not answered within RETRY_S_MAX."""
        if method == "POST":
            request["headers"] = {"Idempotency-Key": uuid.uuid4().hex, **request.get("headers", {})}
        deadline_s = time.monotonic() + RETRY_S_MAX
        problem = ""
        while time.monotonic() < deadline_s:
            try:
                answer = self._http.request(method, f"{self._url()}/api/v1{path}", **request)
            except httpx2.TransportError as error:
                problem = repr(error)
            else:
                if answer.is_success:
                    return answer.json() if answer.content else None
                problem = f"{answer.status_code} {answer.text}"
                if answer.status_code == 500:
                    self.internal_errors.append(f"{method} {path}: {problem}")
                still_running = answer.status_code == 409 and answer.json()["code"].startswith("idempotency-key")
                assert still_running or answer.status_code in _RETRIED_STATUSES, f"{method} {path}: {problem}"
            time.sleep(0.3)
        raise AssertionError(f"{method} {path}: not answered within {RETRY_S_MAX:.0f} s: {problem}")

    def list(self, path: str, **filters: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.send("GET", path, params={"filter": json.dumps(filters), "range": "[0,499]"})
        return found

    def wait_until(
        self, read: Callable[[], Any], accept: Callable[[Any], bool], expected: str, *, timeout_s: float = 300.0
    ) -> Any:
        """Return the first value of ``read`` that ``accept`` accepts. ``expected``: what the error message says about this value."""
        deadline_s = time.monotonic() + timeout_s
        while True:
            value = read()
            if accept(value):
                return value
            assert time.monotonic() < deadline_s, (
                f"not within {timeout_s:.0f} s: {expected}; the last value is {str(value)[:1_500]}"
            )
            time.sleep(0.2)
