"""What a role may not do is not offered to it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.e2e.conftest import Someone
from tests.e2e.person import Person
from tests.e2e.shop import NAME, OTTO, VERA, Account, Shop

DOING = re.compile(
    "^(Start|Suspend|Cancel|Savepoint$|More$|Trigger checkpoint|Take savepoint|Pin$|Pin…|Unpin|Verify|Delete|Go back|Undo|Begin anew|Restore from"
    "|Rescale|Upgrade|Leave it|Retract|Approve|Apply|Edit$|Save$|Create|Add)"
)


def offered(person: Person) -> list[str]:
    """Verbs on the page that is shown, of which some are links."""
    found = person.page.get_by_role("button", name=DOING).or_(person.page.get_by_role("link", name=DOING))
    return [one.inner_text() for one in found.all()]


def test_who_may_only_look_is_offered_nothing_to_do(shop: Shop, someone: Someone) -> None:
    job_id = shop.orders()
    vera = someone(VERA)
    page = vera.page
    vera.go("/jobs", shows="Jobs")
    expect(page.get_by_role("link", name=NAME)).to_be_visible()
    expect(page.get_by_role("link", name="Deploy…")).to_have_count(0)
    menu = page.get_by_role("menu").get_by_role("menuitem")
    expect(menu).to_have_text(["Home", "Jobs", "Alerts", "Alert rules", "Webhooks", "Tokens"])

    for path, shown in (
        ("", page.locator(".weir-chain", has_text="prices")),
        ("/checkpoints", page.get_by_role("button", name="more about this checkpoint").first),
        ("/recovery", page.get_by_text(re.compile("^Checkpoint [0-9]+$")).first),
        ("/versions", page.get_by_role("link", name="Version 1")),
    ):
        vera.go(f"/jobs/{job_id}{path}", shows=NAME)
        expect(shown).to_be_visible()
        assert offered(vera) == []
    expect(page.get_by_role("link", name="New version…")).to_have_count(0)
    vera.go(f"/jobs/{job_id}/checkpoints", shows=NAME)
    page.get_by_role("button", name="more about this checkpoint").first.click()
    expect(page.get_by_role("region", name=re.compile(r"^Checkpoint \d+$"))).to_contain_text("Goes on from")
    assert offered(vera) == []

    vera.go("/jobs/deploy")
    expect(page.get_by_text("You may not deploy jobs")).to_be_visible()
    vera.look("deploy-not-allowed")
    for path, title in (("/alert-rules", "Alert rules"), ("/webhooks", "Webhooks")):
        vera.go(path, shows=title)
        expect(page.get_by_role("link", name=re.compile("on-call|any restart")).first).to_be_visible()
        expect(page.get_by_role("link", name=re.compile("^New "))).to_have_count(0)
    page.get_by_role("link", name="on-call").click()
    expect(page.get_by_role("heading", level=1, name="on-call")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(0)
    assert offered(vera) == []


@pytest.mark.parametrize("path", ["/users", "/users/1", "/users/create", "/audit", "/webhooks/create", "/alert-rules/create"])
def test_who_comes_by_its_address_to_what_is_not_for_him_is_told_so(shop: Shop, someone: Someone, path: str) -> None:
    vera = someone(VERA)
    vera.go(path, shows="Access denied")
    expect(vera.page.get_by_text("This page is not for you")).to_be_visible()
    vera.look(f"not-allowed{path.replace('/', '-')}")


@pytest.mark.parametrize(
    ("account", "said", "buttons"),
    [(OTTO, "Going back needs the permission 'rollback'", 1), (VERA, "It waits for somebody who may operate", 0)],
)
def test_a_plan_is_confirmed_by_who_may_roll_back_and_by_nobody_else(
    shop: Shop, someone: Someone, account: Account, said: str, buttons: int
) -> None:
    job_id = shop.orders()
    kept = shop.api.send(
        "GET", "/checkpoints", params={"filter": f'{{"job_id": {job_id}, "kept": true}}', "sort": '["number","DESC"]'}
    )
    request = {"kind": "rollback", "checkpoint": kept[1]["number"]}
    plan = shop.api.send("POST", f"/jobs/{job_id}/plans", json={"request": request})["id"]
    somebody = someone(account)
    somebody.go(f"/jobs/{job_id}/recovery/{plan}", shows=NAME)
    expect(somebody.page.get_by_text(said)).to_be_visible()
    expect(somebody.page.get_by_text("files read and compared")).to_be_visible()
    back = somebody.page.get_by_role("button", name="Go back", exact=True)
    expect(back).to_have_count(buttons)
    for button in back.all():
        expect(button).to_be_disabled()
    expect(somebody.page.get_by_role("textbox", name=re.compile("to confirm$"))).to_have_count(0)
    somebody.look(f"plan-as-{account.name}")
    shop.api.send("POST", f"/plans/{plan}/withdraw")
