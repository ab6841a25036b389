"""From the log-in page to the preview of a rollback with the keyboard alone, and the rows of all lists opened by it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.e2e.conftest import Someone
from tests.e2e.keyboard import Keyboard
from tests.e2e.shop import NAME, OLGA, Shop

TABS = (
    "Overview", "Checkpoints", "Backpressure & alignment", "Recovery", "Exceptions", "Events", "Versions", "Configuration", "Runs",
)  # fmt: skip


def test_the_keyboard_leads_from_the_log_in_to_the_preview_of_a_rollback(shop: Shop, someone: Someone) -> None:
    job_id = shop.orders()
    olga = someone(None)
    page = olga.page
    keys = Keyboard(page)
    olga.go("/", shows="Log in to Weir")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    keys.write(OLGA.name)
    keys.press("Tab")
    keys.write(OLGA.password)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Home")).to_be_visible()

    # The first thing there is the way past the menu.
    keys.press("Tab")
    expect(page.get_by_role("button", name="Skip to content")).to_be_focused()
    keys.to(page.get_by_role("menuitem", name="Jobs", exact=True))
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    keys.to(page.get_by_role("link", name=NAME, exact=True))
    page.screenshot(path=olga.picture("keyboard-row"))
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1, name=NAME)).to_be_visible()

    keys.to(page.get_by_role("tab", name="Overview"))
    for at, tab in enumerate(TABS):
        if at > 0:
            keys.press("ArrowRight")
            expect(page.get_by_role("tab", name=tab)).to_be_focused()
            keys.press("Enter")
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
    page.screenshot(path=olga.picture("keyboard-tab"))
    for _ in range(len(TABS) - 1 - TABS.index("Recovery")):
        keys.press("ArrowLeft")
    keys.press("Enter")

    tree = page.get_by_role("list", name="Checkpoints and restores, the newest first")
    choice = tree.get_by_role("button", name=re.compile("^Go back to checkpoint"))
    expect(choice.first).to_be_visible()
    keys.to(choice)
    page.screenshot(path=olga.picture("keyboard-go-back"))
    keys.press("Enter")
    expect(page.get_by_role("heading", name=re.compile(r"^Plan \d+: Go back to checkpoint \d+$"))).to_be_visible()
    expect(page.get_by_text("files read and compared")).to_be_visible()
    keys.to(page.get_by_role("textbox", name=f"Type {NAME} to confirm"))
    keys.write(NAME)
    keys.press("Tab")
    expect(page.get_by_role("button", name="Go back", exact=True)).to_be_focused()
    keys.press("Tab")
    expect(page.get_by_role("button", name="Leave it", exact=True)).to_be_focused()
    keys.press("Enter")
    expect(tree).to_be_visible()
    assert not keys.unseen, "\n".join(keys.unseen)
    plans = shop.api.send("GET", "/plans", params={"filter": f'{{"job_id": {job_id}}}', "sort": '["id","DESC"]'})
    assert plans[0]["state"] == "WITHDRAWN"


@pytest.mark.parametrize(
    ("path", "row", "title"),
    [
        ("/users", "vera", "vera"),
        ("/alert-rules", "any restart", "any restart"),
        ("/webhooks", "on-call", "on-call"),
    ],
)
def test_a_row_is_opened_by_keyboard(shop: Shop, someone: Someone, path: str, row: str, title: str) -> None:
    admin = someone(shop.admin)
    keys = Keyboard(admin.page)
    admin.go(path)
    keys.to(admin.page.get_by_role("link", name=row, exact=True))
    keys.press("Enter")
    expect(admin.page.get_by_role("heading", level=1, name=title)).to_be_visible()
    assert not keys.unseen, "\n".join(keys.unseen)


def test_rows_that_unfold_are_unfolded_by_keyboard(shop: Shop, someone: Someone) -> None:
    job_id = shop.orders()
    admin = someone(shop.admin)
    page, keys = admin.page, Keyboard(admin.page)
    admin.go(f"/jobs/{job_id}/checkpoints", shows=NAME)
    keys.to(page.get_by_role("button", name="more about this checkpoint"))
    keys.press("Enter")
    expect(page.get_by_role("region", name=re.compile(r"^Checkpoint \d+$"))).to_contain_text("Goes on from")
    keys.to(page.get_by_role("button", name=re.compile("^Subtasks of ")))
    keys.press("Space")
    expect(page.get_by_role("rowheader", name="subtask 1")).to_be_visible()

    admin.go("/audit", shows="Audit")
    keys.to(page.get_by_role("button", name=re.compile(r" of \S+.* by admin$")))
    keys.press("Enter")
    expect(page.get_by_text("By token")).to_be_visible()
    assert not keys.unseen, "\n".join(keys.unseen)


def test_a_graph_is_looked_into_by_keyboard(shop: Shop, someone: Someone) -> None:
    job_id = shop.orders()
    admin = someone(shop.admin)
    page, keys = admin.page, Keyboard(admin.page)
    admin.go(f"/jobs/{job_id}", shows=NAME)
    keys.to(page.locator(".react-flow__node", has_text="prices"))
    page.screenshot(path=admin.picture("keyboard-graph"))
    keys.press("Enter")
    beside = page.get_by_role("complementary", name=re.compile("prices"))
    expect(beside).to_contain_text("Subtask")
    keys.press("Escape")
    expect(beside).to_have_count(0)
    assert not keys.unseen, "\n".join(keys.unseen)
