"""An HTTP client for the API that needs little CPU time: it has one persistent connection and uses only the standard library."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. ``took_s``: the time from the start of the request to the last byte of the response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes
    took_s: float

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """A client for one thread."""

    def __init__(self, url: str, token: str | None = None) -> None:
        host = urlsplit(url)
        assert host.hostname is not None
        self._connection = http.client.HTTPConnection(host.hostname, host.port, timeout=TIMEOUT_S)
        self._headers = {"Authorization": f"Bearer {token}"} if token is not None else {}

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    def get(self, path: str) -> Answer:
        return self._request("GET", path, None)

    def post(self, path: str, body: bytes | dict[str, Any]) -> Answer:
        return self._request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode())

    def _request(self, method: str, path: str, body: bytes | None) -> Answer:
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        began = time.perf_counter()
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        data = answer.read()
        return Answer(answer.status, answer.headers, data, time.perf_counter() - began)
