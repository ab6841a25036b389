"""Actions that the role of the user does not permit are hidden or disabled."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.e2e.browser_session import BrowserSession
from tests.e2e.conftest import OpenSession
from tests.e2e.rig import NAME, OTTO, VERA, Account, Rig

ACTION_NAMES = re.compile(
    "^(Start|Suspend|Cancel|More$|Trigger|Pin$|Unpin|Verify|Delete|Roll back|Undo|Restore from|Preview plan|Rescale|Upgrade|Discard"
    "|Approve|Apply|Edit$|Save$|Create|Add)"
)


def visible_actions(session: BrowserSession) -> list[str]:
    """Return the names of all visible action buttons and links."""
    found = session.page.get_by_role("button", name=ACTION_NAMES).or_(session.page.get_by_role("link", name=ACTION_NAMES))
    return [one.inner_text() for one in found.all()]


def test_a_viewer_sees_no_actions(rig: Rig, open_session: OpenSession) -> None:
    job_id = rig.ensure_job()
    vera = open_session(VERA)
    page = vera.page
    vera.go("/jobs", shows="Jobs")
    expect(page.get_by_role("link", name=NAME)).to_be_visible()
    expect(page.get_by_role("link", name="Deploy job")).to_have_count(0)
    menu = page.get_by_role("menu").get_by_role("menuitem")
    expect(menu).to_have_text(["Home", "Jobs", "Alerts", "Alert rules", "Webhooks", "Tokens"])

    for path, shown in (
        ("", page.locator(".weir-chain", has_text="prices")),
        ("/checkpoints", page.get_by_role("button", name="checkpoint details").first),
        ("/recovery", page.get_by_text(re.compile("^Checkpoint [0-9]+$")).first),
        ("/versions", page.get_by_role("link", name="Version 1")),
    ):
        vera.go(f"/jobs/{job_id}{path}", shows=NAME)
        expect(shown).to_be_visible()
        assert visible_actions(vera) == []
    expect(page.get_by_role("link", name="New version…")).to_have_count(0)
    vera.go(f"/jobs/{job_id}/checkpoints", shows=NAME)
    page.get_by_role("button", name="checkpoint details").first.click()
    expect(page.get_by_role("region", name=re.compile(r"^Checkpoint \d+$"))).to_contain_text("Based on")
    assert visible_actions(vera) == []

    vera.go("/jobs/deploy")
    expect(page.get_by_text("You cannot deploy jobs")).to_be_visible()
    vera.check("deploy-not-allowed")
    for path, title in (("/alert-rules", "Alert rules"), ("/webhooks", "Webhooks")):
        vera.go(path, shows=title)
        expect(page.get_by_role("link", name=re.compile("on-call|any restart")).first).to_be_visible()
        expect(page.get_by_role("link", name=re.compile("^New "))).to_have_count(0)
    page.get_by_role("link", name="on-call").click()
    expect(page.get_by_role("heading", level=1, name="on-call")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(0)
    assert visible_actions(vera) == []


@pytest.mark.parametrize(
    "path", ["/users", "/users/1", "/users/create", "/secrets", "/audit", "/webhooks/create", "/alert-rules/create"]
)
def test_a_forbidden_page_shows_access_denied(rig: Rig, open_session: OpenSession, path: str) -> None:
    vera = open_session(VERA)
    vera.go(path, shows="Access denied")
    expect(vera.page.get_by_text("You do not have access to this page")).to_be_visible()
    vera.check(f"access-denied{path.replace('/', '-')}")


@pytest.mark.parametrize(
    ("account", "reason", "buttons"),
    [(OTTO, "This needs the permission 'rollback'", 1), (VERA, "Only users with the permission 'operate'", 0)],
)
def test_a_plan_cannot_be_confirmed_without_the_permission_to_roll_back(
    rig: Rig, open_session: OpenSession, account: Account, reason: str, buttons: int
) -> None:
    job_id = rig.ensure_job()
    kept = rig.api.send(
        "GET", "/checkpoints", params={"filter": f'{{"job_id": {job_id}, "kept": true}}', "sort": '["number","DESC"]'}
    )
    request = {"kind": "rollback", "checkpoint": kept[1]["number"]}
    plan = rig.api.send("POST", f"/jobs/{job_id}/plans", json={"request": request})["id"]
    user = open_session(account)
    user.go(f"/jobs/{job_id}/recovery/{plan}", shows=NAME)
    expect(user.page.get_by_text(reason)).to_be_visible()
    expect(user.page.get_by_text("files match their checksums")).to_be_visible()
    roll_back = user.page.get_by_role("button", name="Roll back", exact=True)
    expect(roll_back).to_have_count(buttons)
    for button in roll_back.all():
        expect(button).to_be_disabled()
    expect(user.page.get_by_role("textbox", name=re.compile("to confirm$"))).to_have_count(0)
    user.check(f"plan-as-{account.name}")
    rig.api.send("POST", f"/plans/{plan}/discard")
