"""A rollback and its undo in the web UI."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Locator, expect
from tests.e2e.browser_session import BrowserSession
from tests.e2e.conftest import OpenSession
from tests.e2e.rig import NAME, OLGA, WAIT_S, Rig, running

BACK = 4
"""Number of checkpoints from the rollback target to the newest checkpoint."""


def test_a_job_can_be_rolled_back_and_the_rollback_undone(rig: Rig, open_session: OpenSession) -> None:
    job_id = rig.ensure_job()
    olga = open_session(OLGA)
    page = olga.page
    olga.go(f"/jobs/{job_id}/recovery", shows=NAME)
    tree = page.get_by_role("list", name="Checkpoints and restores, newest first")
    choices = tree.get_by_role("button", name=re.compile("^Roll back to checkpoint"))
    expect(choices.nth(BACK)).to_be_visible()
    olga.check("job-recovery")
    # Find the checkpoint by its number, because newer checkpoints can move its row down.
    target = olga.number(choices.nth(BACK))
    tree.get_by_role("button", name=f"Roll back to checkpoint {target}…", exact=True).click()

    expect(page.get_by_role("heading", name=re.compile(rf"^Plan \d+: Roll back to checkpoint {target}$"))).to_be_visible()
    expect(page.get_by_text("files match their checksums")).to_be_visible()
    expect(page.get_by_role("region", name="Source positions").get_by_role("row")).to_have_count(3)
    expect(page.get_by_text("revokes the output that was committed after the checkpoint")).to_be_visible()
    roll_back = page.get_by_role("button", name="Roll back", exact=True)
    expect(roll_back).to_be_disabled()
    olga.check("plan-rollback")
    olga.take_picture("plan-rollback")
    plan = confirm_plan(olga, roll_back)
    expect(page.get_by_text(re.compile(r"^Plan applied"))).to_be_visible()
    expect_all_done(page.get_by_role("list", name="Steps"))
    olga.check("plan-rollback-applied")

    safety = rig.api.send("GET", f"/plans/{plan}")["safety_checkpoint"]
    assert safety > target
    assert restored_checkpoint(rig, job_id, "rollback") == target
    page.get_by_role("link", name="All checkpoints and plans").click()
    branch = tree.get_by_role("listitem").filter(has_text=f"restored checkpoint {target} by plan {plan} (rollback)")
    expect(branch).to_be_visible()
    expect(
        tree.get_by_role("listitem").filter(has_text=re.compile(rf"^Savepoint {safety}|^Checkpoint {safety}"))
    ).to_contain_text("abandoned")
    olga.check("job-recovery-branched")
    rig.count_output()

    page.get_by_role("button", name=f"Undo plan {plan}", exact=True).click()
    expect(page.get_by_role("heading", name=f"Undo plan {plan}: return to checkpoint {safety}")).to_be_visible()
    expect(page.get_by_text("files match their checksums")).to_be_visible()
    olga.check("plan-undo")
    undo = confirm_plan(olga, page.get_by_role("button", name="Undo plan", exact=True))
    expect(page.get_by_text(re.compile(r"^Plan applied"))).to_be_visible()
    assert restored_checkpoint(rig, job_id, "undo") == safety

    page.get_by_role("link", name="All checkpoints and plans").click()
    returned = tree.get_by_role("listitem").filter(has_text=f"restored checkpoint {safety} by plan {undo} (undo)")
    expect(returned).to_be_visible()
    expect(branch).to_be_visible()
    olga.check("job-recovery-undone")
    rig.count_output()


def confirm_plan(session: BrowserSession, button: Locator) -> int:
    """Type the name of the job, press the button, and return the id of the plan."""
    page = session.page
    field = page.get_by_role("textbox", name=f"Type {NAME} to confirm")
    field.fill("order")
    expect(button).to_be_disabled()
    field.fill(NAME)
    expect(button).to_be_enabled()
    button.click()
    return int(page.url.rsplit("/", 1)[1])


def expect_all_done(steps: Locator) -> None:
    expect(steps.get_by_role("listitem").first).to_be_visible()
    expect(steps.get_by_role("img", name="Done")).to_have_count(steps.get_by_role("listitem").count())


def restored_checkpoint(rig: Rig, job_id: int, cause: str) -> int:
    """Return the checkpoint that the newest run restored. The restored checkpoint is the parent of the first checkpoint that the
    run completed."""
    first = {"sort": '["number","ASC"]', "range": "[0,0]"}

    def first_of(run: dict[str, Any]) -> list[dict[str, Any]]:
        filters = {"job_id": job_id, "run_id": run["id"], "state": "COMPLETED"}
        found: list[dict[str, Any]] = rig.api.send("GET", "/checkpoints", params={**first, "filter": json.dumps(filters)})
        return found

    job = rig.api.wait(job_id, lambda job: running(job) and bool(first_of(job["run"])), timeout_s=WAIT_S)
    assert job["run"]["cause"] == cause
    return int(first_of(job["run"])[0]["parent"])
