"""An API client with one method for each endpoint that commands use."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from difflib import get_close_matches
from typing import Any, cast

from weir.cli.client.credentials import Endpoint, find_endpoint
from weir.cli.client.errors import Refused
from weir.cli.client.http import RETRY_WHILE_WAITING_S, HttpClient
from weir.cli.client.schemas import (
    ArtifactRead,
    CheckpointDetailRead,
    CheckpointRead,
    CoverageRead,
    EventRead,
    FailureRead,
    JobRead,
    ManifestResultRead,
    OperationRead,
    PlanRead,
    PlatformHealthRead,
    RunOfJobRead,
    SecretRead,
    SessionCreatedRead,
    SessionRead,
    SpecDiffRead,
    SpecRead,
    SubtaskSeriesRead,
    TokenCreatedRead,
    TokenRead,
)
from weir.cli.logs import print_message

PAGE_ROWS = 500
"""The maximum number of rows that the API returns in one response."""


class ApiClient:
    """A client of the API. Every method that sends a request can raise Refused, NotAllowed and Unreachable."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.http = HttpClient(endpoint)

    def close(self) -> None:
        self.http.close()

    @contextmanager
    def long_retries(self) -> Iterator[None]:
        """Inside the ``with`` block, retry requests for longer than the API needs to restart."""
        before = self.http.retry_s
        self.http.retry_s = RETRY_WHILE_WAITING_S
        try:
            yield
        finally:
            self.http.retry_s = before

    # ---- lists ---------------------------------------------------------------------------------

    def rows(
        self, path: str, *, limit: int | None, filter: Mapping[str, Any] | None = None, sort: tuple[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Read up to ``limit`` rows, or all rows if ``limit`` is None, page by page.

        ``sort`` is a pair: the name of a field, and ASC or DESC.
        """
        rows: list[dict[str, Any]] = []
        while limit is None or len(rows) < limit:
            count = PAGE_ROWS if limit is None else min(PAGE_ROWS, limit - len(rows))
            params = {"range": json.dumps([len(rows), len(rows) + count - 1]), "filter": json.dumps(dict(filter or {}))}
            if sort is not None:
                params["sort"] = json.dumps(list(sort))
            page = self.http.request("GET", path, params=params).json()
            rows += page
            if len(page) < count:
                break
        return rows

    def _get(self, path: str) -> Any:
        return self.http.request("GET", path).json()

    def _post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.http.request("POST", path, json=body).json()

    # ---- jobs ----------------------------------------------------------------------------------

    def jobs(self, **filter: Any) -> list[JobRead]:
        return cast("list[JobRead]", self.rows("/jobs", limit=None, filter=filter))

    def job(self, job_id: int) -> JobRead:
        return cast(JobRead, self._get(f"/jobs/{job_id}"))

    def job_named(self, name: str) -> JobRead | None:
        rows = self.rows("/jobs", limit=1, filter={"name": name})
        return cast(JobRead, rows[0]) if rows else None

    def delete_job(self, job: JobRead) -> None:
        self.http.request("DELETE", f"/jobs/{job['id']}", headers=_if_match(job))

    def verb(self, job_id: int, verb: str, body: Mapping[str, Any] | None = None) -> OperationRead:
        """Request an operation. ``verb`` is ``start``, ``suspend``, ``cancel``, ``savepoints``, ``checkpoints`` or ``profiles``.
        Only ``start`` and ``profiles`` accept a ``body``."""
        return cast(OperationRead, self._post(f"/jobs/{job_id}/{verb}", body))

    def apply_manifest(self, name: str, manifest: Mapping[str, Any], *, dry_run: bool, wait_s: float) -> ManifestResultRead:
        """Apply a job manifest. Raises Refused with the code ``still-checking`` if the check does not end within ``wait_s``."""
        params = {"dry_run": "true" if dry_run else "false", "wait": _milliseconds(wait_s)}
        return cast(ManifestResultRead, self.http.request("PUT", f"/jobs/{name}", params=params, json=manifest).json())

    # ---- artifacts and specs -------------------------------------------------------------------------

    def artifact(self, digest: str) -> ArtifactRead | None:
        rows = self.rows("/artifacts", limit=1, filter={"digest": digest})
        return cast(ArtifactRead, rows[0]) if rows else None

    def upload(self, name: str, data: bytes) -> ArtifactRead:
        headers = {"Content-Type": "application/octet-stream"}
        response = self.http.request("POST", "/artifacts", params={"name": name}, content=data, headers=headers)
        return cast(ArtifactRead, response.json())

    def spec(self, job_id: int, number: int) -> SpecRead:
        return cast(SpecRead, self._get(f"/jobs/{job_id}/specs/{number}"))

    def specs(self, job_id: int, limit: int) -> list[SpecRead]:
        """Newest first."""
        return cast("list[SpecRead]", self.rows(f"/jobs/{job_id}/specs", limit=limit))

    def diff(self, job_id: int, before: int, after: int) -> SpecDiffRead:
        return cast(SpecDiffRead, self._get(f"/jobs/{job_id}/specs/{before}/diff/{after}"))

    def graph(self, job_id: int, number: int) -> dict[str, Any]:
        """Return the physical graph."""
        return cast("dict[str, Any]", self._get(f"/jobs/{job_id}/specs/{number}/graph")["body"])

    # ---- operations and plans --------------------------------------------------------------------

    def operation(self, operation_id: int, *, wait_s: float = 0.0, after_steps: int | None = None) -> OperationRead:
        """Return an operation as soon as it ends or has more than ``after_steps`` steps, but at the latest after ``wait_s``."""
        params: dict[str, str | int] = {"wait": _milliseconds(wait_s)}
        if after_steps is not None:
            params["after_steps"] = after_steps
        return cast(OperationRead, self.http.request("GET", f"/operations/{operation_id}", params=params).json())

    def profile(self, operation_id: int) -> dict[str, Any]:
        """Return the profile that an operation of the kind ``profile`` has taken."""
        return cast("dict[str, Any]", self._get(f"/operations/{operation_id}/profile"))

    def operations(self, job_id: int | None, limit: int) -> list[OperationRead]:
        """Newest first."""
        return cast("list[OperationRead]", self.rows("/operations", limit=limit, filter=_of_job(job_id)))

    def propose(self, job_id: int, request: Mapping[str, Any]) -> PlanRead:
        return cast(PlanRead, self._post(f"/jobs/{job_id}/plans", {"request": request}))

    def plan(self, plan_id: int) -> PlanRead:
        return cast(PlanRead, self._get(f"/plans/{plan_id}"))

    def plans(self, job_id: int | None, limit: int) -> list[PlanRead]:
        """Newest first."""
        return cast("list[PlanRead]", self.rows("/plans", limit=limit, filter=_of_job(job_id)))

    def approve(self, plan: PlanRead) -> PlanRead:
        """Approve the preview in ``plan``. The API refuses the approval if the preview has changed."""
        return cast(PlanRead, self._post(f"/plans/{plan['id']}/approve", {"digest": plan["digest"]}))

    def apply(self, plan_id: int) -> OperationRead:
        return cast(OperationRead, self._post(f"/plans/{plan_id}/apply"))

    def discard(self, plan_id: int) -> PlanRead:
        return cast(PlanRead, self._post(f"/plans/{plan_id}/discard"))

    # ---- checkpoints, events, metrics, logs -----------------------------------------------------------------------

    def checkpoints(self, job_id: int, limit: int | None) -> list[CheckpointRead]:
        """Newest first."""
        return cast(
            "list[CheckpointRead]", self.rows("/checkpoints", limit=limit, filter=_of_job(job_id), sort=("number", "DESC"))
        )

    def events(self, job_id: int, limit: int) -> list[EventRead]:
        """Newest first."""
        return cast("list[EventRead]", self.rows("/events", limit=limit, filter=_of_job(job_id), sort=("number", "DESC")))

    def checkpoint(self, checkpoint_id: int) -> CheckpointDetailRead:
        return cast(CheckpointDetailRead, self._get(f"/checkpoints/{checkpoint_id}"))

    def failures(self, job_id: int, limit: int) -> list[FailureRead]:
        """Newest first."""
        return cast("list[FailureRead]", self.rows(f"/jobs/{job_id}/failures", limit=limit))

    def coverage(self, job_id: int) -> CoverageRead:
        return cast(CoverageRead, self._get(f"/jobs/{job_id}/coverage"))

    def platform_health(self) -> PlatformHealthRead:
        return cast(PlatformHealthRead, self._get("/platform"))

    def run(self, run_id: int) -> RunOfJobRead:
        return cast(RunOfJobRead, self._get(f"/runs/{run_id}"))

    def metrics(self, job_id: int, *, since: datetime) -> list[SubtaskSeriesRead]:
        response = self.http.request("GET", f"/jobs/{job_id}/metrics", params={"since": since.isoformat()})
        return cast("list[SubtaskSeriesRead]", response.json()["subtasks"])

    def log(self, run_id: int, offset: int) -> tuple[bytes, int, int]:
        """Return part of the driver's log, the size of the whole log, and the offset at which the next part starts.

        A negative ``offset`` counts from the end of the log.
        """
        response = self.http.request("GET", f"/runs/{run_id}/log", params={"offset": offset}, headers={"Accept": "text/plain"})
        return response.content, int(response.headers["X-Log-Size"]), int(response.headers["X-Log-Next"])

    # ---- secrets ---------------------------------------------------------------------------------

    def secrets(self) -> list[SecretRead]:
        return cast("list[SecretRead]", self.rows("/secrets", limit=None))

    def secret_named(self, name: str) -> SecretRead | None:
        rows = self.rows("/secrets", limit=None, filter={"name": name})  # the filter also finds parts of names
        return next((cast(SecretRead, row) for row in rows if row["name"] == name), None)

    def create_secret(self, draft: Mapping[str, Any]) -> SecretRead:
        return cast(SecretRead, self.http.request("POST", "/secrets", json=draft, once=True).json())

    def update_secret(self, secret: SecretRead, wanted: Mapping[str, Any]) -> SecretRead:
        path = f"/secrets/{secret['id']}"
        return cast(SecretRead, self.http.request("PATCH", path, json=wanted, headers=_if_match(secret)).json())

    def delete_secret(self, secret: SecretRead) -> None:
        self.http.request("DELETE", f"/secrets/{secret['id']}", headers=_if_match(secret))

    # ---- sessions and tokens --------------------------------------------------------------------------

    def log_in(self, name: str, password: str) -> SessionCreatedRead:
        return cast(
            SessionCreatedRead, self.http.request("POST", "/session", json={"name": name, "password": password}, once=True).json()
        )

    def session(self) -> SessionRead:
        return cast(SessionRead, self._get("/session"))

    def log_out(self) -> None:
        self.http.request("DELETE", "/session")

    def tokens(self) -> list[TokenRead]:
        return cast("list[TokenRead]", self.rows("/tokens", limit=None))

    def create_token(self, draft: Mapping[str, Any]) -> TokenCreatedRead:
        return cast(TokenCreatedRead, self.http.request("POST", "/tokens", json=draft, once=True).json())

    def revoke_token(self, token_id: int) -> None:
        self.http.request("DELETE", f"/tokens/{token_id}")


def _milliseconds(seconds: float) -> str:
    return f"{max(0, round(seconds * 1_000))}ms"


def _if_match(resource: JobRead | SecretRead) -> dict[str, str]:
    return {"If-Match": f'"{resource["version"]}"'}


def _of_job(job_id: int | None) -> dict[str, Any]:
    return {} if job_id is None else {"job_id": job_id}


@contextmanager
def open_client(endpoint: Endpoint | None = None) -> Iterator[ApiClient]:
    """Open a client for ``endpoint``, by default for the configured platform. Raises NotConfigured, Refused."""
    client = ApiClient(endpoint or find_endpoint(os.environ))
    client.http.on_outage = lambda reason: print_message(f"  The platform does not respond ({reason}). Retrying.")
    try:
        yield client
    finally:
        client.close()


def find_job(client: ApiClient, name_or_id: str) -> JobRead:
    """Return the job with this name, or with this id if no job has the name.

    Raises Refused if there is no such job. The error message lists jobs with similar names.
    """
    job = _job_or_none(client, name_or_id)
    if job is None:
        hint = _similar_names(client, name_or_id)
        raise Refused(f"No job '{name_or_id}' at {client.endpoint.url}. {hint}", status=404, code="no-job")
    return job


def find_checkpoint(client: ApiClient, job: JobRead, number: int) -> CheckpointDetailRead:
    """Return the checkpoint of the job with this number. Raises Refused if there is no such checkpoint."""
    found = client.rows("/checkpoints", limit=1, filter={"job_id": job["id"], "number": number})
    if not found:
        raise Refused(
            f"Job '{job['name']}' has no checkpoint {number}. To list its checkpoints, run weir checkpoints {job['name']}.",
            status=404,
            code="no-checkpoint",
        )
    return client.checkpoint(found[0]["id"])


def _job_or_none(client: ApiClient, name_or_id: str) -> JobRead | None:
    job = client.job_named(name_or_id)
    if job is not None or not (name_or_id.isascii() and name_or_id.isdigit() and len(name_or_id) <= 18 and int(name_or_id) > 0):
        return job
    try:
        return client.job(int(name_or_id))
    except Refused as error:
        if error.status == 404:
            return None
        raise


def _similar_names(client: ApiClient, name: str) -> str:
    names = [job["name"] for job in client.jobs()]
    if not names:
        return "There are no jobs yet. Create a job with weir deploy."
    by_lower = {name.lower(): name for name in names}
    similar = [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)]
    return f"Did you mean {' or '.join(similar)}?" if similar else "To list all jobs, run weir jobs."
