"""What commands ask of the API: a method for each endpoint that they use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

from weir.cli.remote.http import Http
from weir.cli.remote.place import Place
from weir.cli.remote.shapes import (
    Artifact,
    Checkpoint,
    Diff,
    Event,
    Job,
    NewSession,
    NewToken,
    Operation,
    Plan,
    Session,
    Spec,
    Subtask,
    Token,
)

PAGE = 500
"""As many rows as the API gives at once."""
WAITING_S = 60.0
"""Who waits for something that takes minutes sits out a restart of the platform."""


class Client:
    """Methods raise Refused, NotAllowed, Unreachable."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.http = Http(place)

    def close(self) -> None:
        self.http.close()

    @contextmanager
    def patient(self) -> Iterator[None]:
        """Around waiting: the platform may be away for a while."""
        before = self.http.patience_s
        self.http.patience_s = WAITING_S
        try:
            yield
        finally:
            self.http.patience_s = before

    # ---- lists ---------------------------------------------------------------------------------

    def rows(
        self, path: str, *, limit: int | None, filter: Mapping[str, Any] | None = None, sort: tuple[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """``limit`` None: all of them, page by page. ``sort``: field, and ASC or DESC."""
        found: list[dict[str, Any]] = []
        while limit is None or len(found) < limit:
            count = PAGE if limit is None else min(PAGE, limit - len(found))
            params = {"range": json.dumps([len(found), len(found) + count - 1]), "filter": json.dumps(dict(filter or {}))}
            if sort is not None:
                params["sort"] = json.dumps(list(sort))
            page = self.http.request("GET", path, params=params).json()
            found += page
            if len(page) < count:
                break
        return found

    def _get(self, path: str) -> Any:
        return self.http.request("GET", path).json()

    def _post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.http.request("POST", path, json=body).json()

    # ---- jobs ----------------------------------------------------------------------------------

    def jobs(self, **filter: Any) -> list[Job]:
        return cast("list[Job]", self.rows("/jobs", limit=None, filter=filter))

    def job(self, job_id: int) -> Job:
        return cast(Job, self._get(f"/jobs/{job_id}"))

    def job_named(self, name: str) -> Job | None:
        found = self.rows("/jobs", limit=1, filter={"name": name})
        return cast(Job, found[0]) if found else None

    def create_job(self, draft: Mapping[str, Any]) -> Job:
        return cast(Job, self._post("/jobs", draft))

    def change_job(self, job: Job, change: Mapping[str, Any]) -> Job:
        return cast(Job, self.http.request("PATCH", f"/jobs/{job['id']}", json=change, headers=_seen(job)).json())

    def delete_job(self, job: Job) -> None:
        self.http.request("DELETE", f"/jobs/{job['id']}", headers=_seen(job))

    def verb(self, job_id: int, verb: str) -> Operation:
        """``start``, ``suspend``, ``cancel``, ``savepoints``, ``checkpoints``."""
        return cast(Operation, self._post(f"/jobs/{job_id}/{verb}"))

    # ---- what a job runs -------------------------------------------------------------------------

    def artifact(self, digest: str) -> Artifact | None:
        found = self.rows("/artifacts", limit=1, filter={"digest": digest})
        return cast(Artifact, found[0]) if found else None

    def upload(self, name: str, data: bytes) -> Artifact:
        headers = {"Content-Type": "application/octet-stream"}
        answer = self.http.request("POST", "/artifacts", params={"name": name}, content=data, headers=headers)
        return cast(Artifact, answer.json())

    def spec(self, job_id: int, number: int) -> Spec:
        return cast(Spec, self._get(f"/jobs/{job_id}/specs/{number}"))

    def specs(self, job_id: int, limit: int) -> list[Spec]:
        """Newest first."""
        return cast("list[Spec]", self.rows(f"/jobs/{job_id}/specs", limit=limit))

    def add_spec(self, job: Job, draft: Mapping[str, Any]) -> Spec:
        return cast(Spec, self.http.request("POST", f"/jobs/{job['id']}/specs", json=draft, headers=_seen(job)).json())

    def diff(self, job_id: int, before: int, after: int) -> Diff:
        return cast(Diff, self._get(f"/jobs/{job_id}/specs/{before}/diff/{after}"))

    def graph(self, job_id: int, number: int) -> dict[str, Any]:
        """The physical graph."""
        return cast("dict[str, Any]", self._get(f"/jobs/{job_id}/specs/{number}/graph")["body"])

    # ---- operations and plans --------------------------------------------------------------------

    def operation(self, operation_id: int) -> Operation:
        return cast(Operation, self._get(f"/operations/{operation_id}"))

    def operations(self, job_id: int | None, limit: int) -> list[Operation]:
        """Newest first."""
        return cast("list[Operation]", self.rows("/operations", limit=limit, filter=_of_job(job_id)))

    def propose(self, job_id: int, request: Mapping[str, Any]) -> Plan:
        return cast(Plan, self._post(f"/jobs/{job_id}/plans", {"request": request}))

    def plan(self, plan_id: int) -> Plan:
        return cast(Plan, self._get(f"/plans/{plan_id}"))

    def plans(self, job_id: int | None, limit: int) -> list[Plan]:
        """Newest first."""
        return cast("list[Plan]", self.rows("/plans", limit=limit, filter=_of_job(job_id)))

    def approve(self, plan_id: int) -> Plan:
        return cast(Plan, self._post(f"/plans/{plan_id}/approve"))

    def apply(self, plan_id: int) -> Operation:
        return cast(Operation, self._post(f"/plans/{plan_id}/apply"))

    def withdraw(self, plan_id: int) -> Plan:
        return cast(Plan, self._post(f"/plans/{plan_id}/withdraw"))

    # ---- what has happened -----------------------------------------------------------------------

    def checkpoints(self, job_id: int, limit: int | None) -> list[Checkpoint]:
        """Newest first."""
        return cast("list[Checkpoint]", self.rows("/checkpoints", limit=limit, filter=_of_job(job_id), sort=("number", "DESC")))

    def events(self, job_id: int, limit: int) -> list[Event]:
        """Newest first."""
        return cast("list[Event]", self.rows("/events", limit=limit, filter=_of_job(job_id), sort=("number", "DESC")))

    def checkpoint(self, checkpoint_id: int) -> dict[str, Any]:
        return cast("dict[str, Any]", self._get(f"/checkpoints/{checkpoint_id}"))

    def metrics(self, job_id: int, *, since: datetime) -> list[Subtask]:
        answer = self.http.request("GET", f"/jobs/{job_id}/metrics", params={"since": since.isoformat()})
        return cast("list[Subtask]", answer.json()["subtasks"])

    def log(self, run_id: int, offset: int) -> tuple[bytes, int, int]:
        """A piece of what the run's driver has said, the size of all of it, and where to go on."""
        answer = self.http.request("GET", f"/runs/{run_id}/log", params={"offset": offset}, headers={"Accept": "text/plain"})
        return answer.content, int(answer.headers["X-Log-Size"]), int(answer.headers["X-Log-Next"])

    # ---- who is calling --------------------------------------------------------------------------

    def log_in(self, name: str, password: str) -> NewSession:
        return cast(
            NewSession, self.http.request("POST", "/session", json={"name": name, "password": password}, once=True).json()
        )

    def session(self) -> Session:
        return cast(Session, self._get("/session"))

    def log_out(self) -> None:
        self.http.request("DELETE", "/session")

    def tokens(self) -> list[Token]:
        return cast("list[Token]", self.rows("/tokens", limit=None))

    def create_token(self, draft: Mapping[str, Any]) -> NewToken:
        return cast(NewToken, self.http.request("POST", "/tokens", json=draft, once=True).json())

    def revoke_token(self, token_id: int) -> None:
        self.http.request("DELETE", f"/tokens/{token_id}")


def _seen(job: Job) -> dict[str, str]:
    return {"If-Match": f'"{job["version"]}"'}


def _of_job(job_id: int | None) -> dict[str, Any]:
    return {} if job_id is None else {"job_id": job_id}
