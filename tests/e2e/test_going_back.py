"""A job is taken back to an older checkpoint and that is undone, by a person who looks before he does it, and sees it in the tree."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Locator, expect
from tests.e2e.conftest import Someone
from tests.e2e.person import Person
from tests.e2e.shop import NAME, OLGA, WAIT_S, Shop, running

BACK = 4
"""Checkpoints, from the newest one."""


def test_a_job_is_taken_back_to_an_older_checkpoint_and_returns(shop: Shop, someone: Someone) -> None:
    job_id = shop.orders()
    olga = someone(OLGA)
    page = olga.page
    olga.go(f"/jobs/{job_id}/recovery", shows=NAME)
    tree = page.get_by_role("list", name="Checkpoints and restores, the newest first")
    choices = tree.get_by_role("button", name=re.compile("^Go back to checkpoint"))
    expect(choices.nth(BACK)).to_be_visible()
    olga.look("job-recovery")
    # While one reads, newer ones come on top: it is asked for by its number.
    target = olga.number(choices.nth(BACK))
    tree.get_by_role("button", name=f"Go back to checkpoint {target}: see what would happen", exact=True).click()

    expect(page.get_by_role("heading", name=re.compile(rf"^Plan \d+: Go back to checkpoint {target}$"))).to_be_visible()
    expect(page.get_by_text("files read and compared")).to_be_visible()
    expect(page.get_by_role("region", name="Positions of the sources").get_by_role("row")).to_have_count(3)
    expect(page.get_by_text("what came after is taken back from readers")).to_be_visible()
    go_back = page.get_by_role("button", name="Go back", exact=True)
    expect(go_back).to_be_disabled()
    olga.look("plan-rollback")
    plan = confirmed(olga, go_back)
    expect(page.get_by_text(re.compile(r"^It was applied"))).to_be_visible()
    all_done(page.get_by_role("list", name="Steps"))
    olga.look("plan-rollback-applied")

    safety = shop.api.send("GET", f"/plans/{plan}")["safety_checkpoint"]
    assert safety > target
    assert begun_by(shop, job_id, "rollback") == target
    page.get_by_role("link", name="All checkpoints and plans").click()
    branch = tree.get_by_role("listitem").filter(has_text=f"went back to {target} by plan {plan} (rollback)")
    expect(branch).to_be_visible()
    expect(
        tree.get_by_role("listitem").filter(has_text=re.compile(rf"^Savepoint {safety}|^Checkpoint {safety}"))
    ).to_contain_text("left behind")
    olga.look("job-recovery-branched")
    shop.counted()

    page.get_by_role("button", name=f"Undo plan {plan}", exact=True).click()
    expect(page.get_by_role("heading", name=f"Undo plan {plan}: return to checkpoint {safety}")).to_be_visible()
    expect(page.get_by_text("files read and compared")).to_be_visible()
    olga.look("plan-undo")
    undo = confirmed(olga, page.get_by_role("button", name="Undo it", exact=True))
    expect(page.get_by_text(re.compile(r"^It was applied"))).to_be_visible()
    assert begun_by(shop, job_id, "undo") == safety

    page.get_by_role("link", name="All checkpoints and plans").click()
    returned = tree.get_by_role("listitem").filter(has_text=f"went back to {safety} by plan {undo} (undo)")
    expect(returned).to_be_visible()
    expect(branch).to_be_visible()
    olga.look("job-recovery-undone")
    shop.counted()


def confirmed(person: Person, button: Locator) -> int:
    """The id of the plan that the page is about, once its name was typed and the button was pressed."""
    page = person.page
    field = page.get_by_role("textbox", name=f"Type {NAME} to confirm")
    field.fill("order")
    expect(button).to_be_disabled()
    field.fill(NAME)
    expect(button).to_be_enabled()
    button.click()
    return int(page.url.rsplit("/", 1)[1])


def all_done(steps: Locator) -> None:
    expect(steps.get_by_role("listitem").first).to_be_visible()
    expect(steps.get_by_role("img", name="Done")).to_have_count(steps.get_by_role("listitem").count())


def begun_by(shop: Shop, job_id: int, cause: str) -> int:
    """The checkpoint that the newest run of the job, which was begun for this, has gone on from: told by the first one that it completes."""
    asked = {"sort": '["number","ASC"]', "range": "[0,0]"}

    def first_of(run: dict[str, Any]) -> list[dict[str, Any]]:
        wanted = {"job_id": job_id, "run_id": run["id"], "state": "COMPLETED"}
        found: list[dict[str, Any]] = shop.api.send("GET", "/checkpoints", params={**asked, "filter": json.dumps(wanted)})
        return found

    job = shop.api.wait(job_id, lambda job: running(job) and bool(first_of(job["run"])), timeout_s=WAIT_S)
    assert job["run"]["cause"] == cause
    return int(first_of(job["run"])[0]["parent"])
