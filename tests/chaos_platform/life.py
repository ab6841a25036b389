"""The life of a job while everything around it is killed: deployed, rolled back, undone, finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.chaos_platform.retrying_client import PatientApi
from tests.integration.cli.small_job import numbers
from tests.integration.cli.weir_command import ROOT
from tests.integration.platform.embedded_rig import Platform

CODE = (ROOT / "tests" / "integration" / "cli" / "small_job.py").read_bytes()


def live(api: PatientApi, platform: Platform, root: Path, *, name: str) -> int:
    """Run one job to its end and return its id. Raises AssertionError if it is stuck."""
    numbers(root / "input")
    digest = api.send("POST", "/artifacts", params={"name": "small_job.py"}, content=CODE)["digest"]
    parameters = {"input": str(root / "input"), "output": str(root / "output"), "rate": 60}
    spec = {
        "artifact": digest,
        "parameters": parameters,
        "checkpointing": {"interval": "300ms", "retained": 1_000},
        "restart": {"attempts": 1_000, "max_s": 2.0},
    }
    job_id = int(api.send("POST", "/jobs", json={"name": name, "spec": spec})["id"])
    target = _checkpoints(api, job_id, at_least=3)
    _checkpoints(api, job_id, at_least=target + 5)
    plan = _plan(api, job_id, {"kind": "rollback", "checkpoint": target})
    newest = _checkpoints(api, job_id, at_least=0)
    _checkpoints(api, job_id, at_least=newest + 3)
    if plan["state"] == "APPLIED" and plan["safety_checkpoint"] is not None:
        _plan(api, job_id, {"kind": "undo", "plan": plan["id"]})
    _job(api, job_id, lambda job: job["state"] == "FINISHED", "it finishes")
    return job_id


def _job(api: PatientApi, job_id: int, enough: Any, what: str) -> dict[str, Any]:
    seen: dict[str, Any] = api.until(lambda: api.send("GET", f"/jobs/{job_id}"), enough, what)
    assert seen["health"] != "needs_attention", seen
    return seen


def _checkpoints(api: PatientApi, job_id: int, *, at_least: int) -> int:
    """Return the number of the newest completed checkpoint once it reaches ``at_least``, or once the job has finished."""
    job = _job(
        api, job_id,
        lambda job: (job["last_checkpoint"] and job["last_checkpoint"]["number"] >= at_least) or job["state"] == "FINISHED",
        f"checkpoint {at_least}",
    )  # fmt: skip
    return int(job["last_checkpoint"]["number"])


def _plan(api: PatientApi, job_id: int, request: dict[str, Any]) -> dict[str, Any]:
    """Apply a plan. It may fail without harm; a plan for a job that has changed in the meantime is proposed again."""
    plan_id = api.send("POST", f"/jobs/{job_id}/plans", json={"request": request})["id"]
    api.until(
        lambda: api.send("GET", f"/plans/{plan_id}"), lambda plan: plan["preview"]["inspection"], f"a look into plan {plan_id}"
    )
    api.send("POST", f"/plans/{plan_id}/approve")
    api.send("POST", f"/plans/{plan_id}/apply")
    over: dict[str, Any] = api.until(
        lambda: api.send("GET", f"/plans/{plan_id}"),
        lambda plan: plan["state"] in ("APPLIED", "FAILED"),
        f"plan {plan_id} is over",
    )
    return over
