"""A client for tests of the control plane's API. The client raises AssertionError for unexpected responses."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx2

WAIT_S = 300.0


class Api:
    """A client that is logged in to the platform at ``url``."""

    def __init__(self, url: str, name: str, password: str) -> None:
        self._url = f"{url}/api/v1"
        self._name, self._password = name, password
        self._http = httpx2.Client(base_url=self._url, timeout=30.0)
        self.login()

    def login(self) -> None:
        token = self.send("POST", "/session", json={"name": self._name, "password": self._password})["token"]
        self._http.headers["Authorization"] = f"Bearer {token}"

    def send(self, method: str, path: str, **options: Any) -> Any:
        response = self._http.request(method, path, **options)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def text(self, path: str) -> str:
        response = self._http.get(path)
        assert response.is_success, f"GET {path}: {response.status_code} {response.text}"
        return response.text

    def refused(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        response = self._http.request(method, path, **options)
        assert 400 <= response.status_code < 500, f"{method} {path}: {response.status_code} {response.text}"
        problem: dict[str, Any] = response.json()
        return problem

    def upload(self, name: str, data: bytes) -> str:
        digest: str = self.send("POST", "/artifacts", params={"name": name}, content=data)["digest"]
        return digest

    def job(self, job_id: int) -> dict[str, Any]:
        found: dict[str, Any] = self.send("GET", f"/jobs/{job_id}")
        return found

    def wait(self, job_id: int, condition: Callable[[dict[str, Any]], bool], *, timeout_s: float = WAIT_S) -> dict[str, Any]:
        """Wait until ``condition`` holds for the job, and return the job. Connection errors are retried, because a server might be
        restarting."""
        deadline_s = time.monotonic() + timeout_s
        seen: dict[str, Any] = {}
        while time.monotonic() < deadline_s:
            try:
                seen = self.job(job_id)
            except (httpx2.TransportError, AssertionError):
                time.sleep(0.2)
                continue
            if condition(seen):
                return seen
            time.sleep(0.1)
        raise AssertionError(f"the condition does not hold after {timeout_s:.0f} s; the job is {seen}")

    def plan(self, job_id: int, request: dict[str, Any]) -> dict[str, Any]:
        """Propose a plan, wait until the platform has inspected it, and approve it."""
        plan_id = self.send("POST", f"/jobs/{job_id}/plans", json={"request": request})["id"]
        deadline_s = time.monotonic() + WAIT_S
        while (plan := self.send("GET", f"/plans/{plan_id}"))["preview"]["inspection"] is None:
            assert time.monotonic() < deadline_s, f"plan {plan_id} is not inspected"
            time.sleep(0.1)
        approved: dict[str, Any] = self.send("POST", f"/plans/{plan_id}/approve", json={"digest": plan["digest"]})
        return approved

    def apply(self, plan_id: int) -> dict[str, Any]:
        """Apply a plan and wait until the operation has ended."""
        return self.done(self.send("POST", f"/plans/{plan_id}/apply")["id"])

    def done(self, operation_id: int, *, timeout_s: float = WAIT_S) -> dict[str, Any]:
        deadline_s = time.monotonic() + timeout_s
        while (found := self.send("GET", f"/operations/{operation_id}"))["ended_at"] is None:
            assert time.monotonic() < deadline_s, f"operation {operation_id} has not ended: {found}"
            time.sleep(0.1)
        operation: dict[str, Any] = found
        return operation
