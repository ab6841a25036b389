"""An API client that retries each request until it is answered. Requests that change something carry an idempotency key."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx2

PATIENCE_S = 120.0
_AGAIN = frozenset({429, 500, 502, 503, 504})


class PatientApi:
    """``url``: the current address of the platform. Answers of 5xx are counted; 503 is right while a server is away, others are
    not."""

    def __init__(self, url: Callable[[], str], name: str, password: str) -> None:
        self._url = url
        self._login = {"name": name, "password": password}
        self._http = httpx2.Client(timeout=30.0)
        self.wrong: list[str] = []
        self._http.headers["Authorization"] = f"Bearer {self.send('POST', '/session', json=self._login)['token']}"

    def send(self, method: str, path: str, **more: Any) -> Any:
        if method == "POST":
            more["headers"] = {"Idempotency-Key": uuid.uuid4().hex, **more.get("headers", {})}
        deadline_s = time.monotonic() + PATIENCE_S
        said = ""
        while time.monotonic() < deadline_s:
            try:
                answer = self._http.request(method, f"{self._url()}/api/v1{path}", **more)
            except httpx2.TransportError as error:
                said = repr(error)
            else:
                if answer.is_success:
                    return answer.json() if answer.content else None
                said = f"{answer.status_code} {answer.text}"
                if answer.status_code == 500:
                    self.wrong.append(f"{method} {path}: {said}")
                busy = answer.status_code == 409 and answer.json()["code"].startswith("idempotency-key")
                assert busy or answer.status_code in _AGAIN, f"{method} {path}: {said}"
            time.sleep(0.3)
        raise AssertionError(f"{method} {path}: not answered within {PATIENCE_S:.0f} s: {said}")

    def listed(self, path: str, **wanted: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.send("GET", path, params={"filter": json.dumps(wanted), "range": "[0,499]"})
        return found

    def until(self, look: Callable[[], Any], enough: Callable[[Any], bool], what: str, *, timeout_s: float = 300.0) -> Any:
        deadline_s = time.monotonic() + timeout_s
        while True:
            seen = look()
            if enough(seen):
                return seen
            assert time.monotonic() < deadline_s, f"not within {timeout_s:.0f} s: {what}; there is {str(seen)[:1_500]}"
            time.sleep(0.2)
