"""The scenario of one job while processes are killed: deploy the job, roll it back, undo the rollback, and wait until the job
finishes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos_platform.retrying_client import RetryingClient
from tests.integration.cli.small_job import numbers
from tests.integration.cli.weir_command import ROOT
from tests.integration.platform.embedded_rig import Platform

CODE = (ROOT / "tests" / "integration" / "cli" / "small_job.py").read_bytes()


def run_scenario(client: RetryingClient, platform: Platform, root: Path, *, name: str) -> int:
    """Return the id of the job. Raises AssertionError if the job does not finish or needs attention."""
    numbers(root / "input")
    digest = client.send("POST", "/artifacts", params={"name": "small_job.py"}, content=CODE)["digest"]
    parameters = {"input": str(root / "input"), "output": str(root / "output"), "rate": 60}
    spec = {
        "artifact": digest,
        "parameters": parameters,
        "checkpointing": {"interval": "300ms", "retained": 1_000},
        "restart": {"attempts": 1_000, "max_s": 2.0},
    }
    job_id = int(client.send("POST", "/jobs", json={"name": name, "spec": spec})["id"])
    target = _wait_for_checkpoint(client, job_id, at_least=3)
    _wait_for_checkpoint(client, job_id, at_least=target + 5)
    plan = _apply_plan(client, job_id, {"kind": "rollback", "checkpoint": target})
    newest = _wait_for_checkpoint(client, job_id, at_least=0)
    _wait_for_checkpoint(client, job_id, at_least=newest + 3)
    if plan["state"] == "APPLIED" and plan["safety_checkpoint"] is not None:
        _apply_plan(client, job_id, {"kind": "undo", "plan": plan["id"]})
    _wait_for_job(client, job_id, lambda job: job["state"] == "FINISHED", "the job has finished")
    return job_id


def _wait_for_job(client: RetryingClient, job_id: int, accept: Callable[[dict[str, Any]], bool], expected: str) -> dict[str, Any]:
    job: dict[str, Any] = client.wait_until(lambda: client.send("GET", f"/jobs/{job_id}"), accept, expected)
    assert job["health"] != "needs_attention", job
    return job


def _wait_for_checkpoint(client: RetryingClient, job_id: int, *, at_least: int) -> int:
    """Wait until checkpoint ``at_least`` or a newer one is completed, or the job has finished. Return the number of the newest
    completed checkpoint."""
    job = _wait_for_job(
        client, job_id,
        lambda job: bool(job["last_checkpoint"] and job["last_checkpoint"]["number"] >= at_least) or job["state"] == "FINISHED",
        f"checkpoint {at_least} is completed",
    )  # fmt: skip
    return int(job["last_checkpoint"]["number"])


def _apply_plan(client: RetryingClient, job_id: int, request: dict[str, Any]) -> dict[str, Any]:
    """Apply a plan, and return the plan when it has ended. If the plan fails, the job continues as before."""
    plan_id = client.send("POST", f"/jobs/{job_id}/plans", json={"request": request})["id"]
    inspected = client.wait_until(
        lambda: client.send("GET", f"/plans/{plan_id}"),
        lambda plan: bool(plan["preview"]["inspection"]),
        f"plan {plan_id} is inspected",
    )
    client.send("POST", f"/plans/{plan_id}/approve", json={"digest": inspected["digest"]})
    client.send("POST", f"/plans/{plan_id}/apply")
    plan: dict[str, Any] = client.wait_until(
        lambda: client.send("GET", f"/plans/{plan_id}"),
        lambda plan: plan["state"] in ("APPLIED", "FAILED"),
        f"plan {plan_id} has ended",
    )
    return plan
