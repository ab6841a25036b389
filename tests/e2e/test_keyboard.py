"""Navigation with only the keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.e2e.conftest import OpenSession
from tests.e2e.keyboard import Keyboard
from tests.e2e.rig import NAME, OLGA, Rig

TABS = (
    "Overview", "Checkpoints", "Backpressure & alignment", "Profiler", "Recovery", "Exceptions", "Logs", "Events", "Versions", "Configuration",
    "Runs",
)  # fmt: skip


def test_a_rollback_can_be_previewed_with_the_keyboard(rig: Rig, open_session: OpenSession) -> None:
    job_id = rig.ensure_job()
    olga = open_session(None)
    page = olga.page
    keys = Keyboard(page)
    olga.go("/", shows="Log in to Weir")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    keys.type(OLGA.name)
    keys.press("Tab")
    keys.type(OLGA.password)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Home")).to_be_visible()

    # The first focusable element is a link that skips the menu.
    keys.press("Tab")
    expect(page.get_by_role("button", name="Skip to content")).to_be_focused()
    keys.focus(page.get_by_role("menuitem", name="Jobs", exact=True))
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    keys.focus(page.get_by_role("link", name=NAME, exact=True))
    page.screenshot(path=olga.screenshot_path("keyboard-row"))
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1, name=NAME)).to_be_visible()

    keys.focus(page.get_by_role("tab", name="Overview"))
    for at, tab in enumerate(TABS):
        if at > 0:
            keys.press("ArrowRight")
            expect(page.get_by_role("tab", name=tab)).to_be_focused()
            keys.press("Enter")
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
    page.screenshot(path=olga.screenshot_path("keyboard-tab"))
    for _ in range(len(TABS) - 1 - TABS.index("Recovery")):
        keys.press("ArrowLeft")
    keys.press("Enter")

    tree = page.get_by_role("list", name="Checkpoints and restores, newest first")
    choice = tree.get_by_role("button", name=re.compile("^Roll back to checkpoint"))
    expect(choice.first).to_be_visible()
    keys.focus(choice)
    page.screenshot(path=olga.screenshot_path("keyboard-go-back"))
    keys.press("Enter")
    expect(page.get_by_role("heading", name=re.compile(r"^Plan \d+: Roll back to checkpoint \d+$"))).to_be_visible()
    expect(page.get_by_text("files match their checksums")).to_be_visible()
    keys.focus(page.get_by_role("textbox", name=f"Type {NAME} to confirm"))
    keys.type(NAME)
    keys.press("Tab")
    expect(page.get_by_role("button", name="Roll back", exact=True)).to_be_focused()
    keys.press("Tab")
    expect(page.get_by_role("button", name="Discard plan", exact=True)).to_be_focused()
    keys.press("Enter")
    expect(tree).to_be_visible()
    assert not keys.hidden_focus, "\n".join(keys.hidden_focus)
    plans = rig.api.send("GET", "/plans", params={"filter": f'{{"job_id": {job_id}}}', "sort": '["id","DESC"]'})
    assert plans[0]["state"] == "DISCARDED"


@pytest.mark.parametrize(
    ("path", "row", "title"),
    [
        ("/users", "vera", "vera"),
        ("/alert-rules", "any restart", "any restart"),
        ("/webhooks", "on-call", "on-call"),
    ],
)
def test_a_row_can_be_opened_with_the_keyboard(rig: Rig, open_session: OpenSession, path: str, row: str, title: str) -> None:
    admin = open_session(rig.admin)
    keys = Keyboard(admin.page)
    admin.go(path)
    keys.focus(admin.page.get_by_role("link", name=row, exact=True))
    keys.press("Enter")
    expect(admin.page.get_by_role("heading", level=1, name=title)).to_be_visible()
    assert not keys.hidden_focus, "\n".join(keys.hidden_focus)


def test_rows_can_be_expanded_with_the_keyboard(rig: Rig, open_session: OpenSession) -> None:
    job_id = rig.ensure_job()
    admin = open_session(rig.admin)
    page, keys = admin.page, Keyboard(admin.page)
    admin.go(f"/jobs/{job_id}/checkpoints", shows=NAME)
    keys.focus(page.get_by_role("button", name="checkpoint details"))
    keys.press("Enter")
    expect(page.get_by_role("region", name=re.compile(r"^Checkpoint \d+$"))).to_contain_text("Based on")
    keys.focus(page.get_by_role("button", name=re.compile("^Subtasks of ")))
    keys.press("Space")
    expect(page.get_by_role("rowheader", name="subtask 1")).to_be_visible()

    admin.go("/audit", shows="Audit log")
    keys.focus(page.get_by_role("button", name=re.compile(r" of \S+.* by admin$")))
    keys.press("Enter")
    expect(page.get_by_role("term").filter(has_text=re.compile("^Request sent with$"))).to_be_visible()
    assert not keys.hidden_focus, "\n".join(keys.hidden_focus)


def test_an_operator_of_the_graph_can_be_opened_with_the_keyboard(rig: Rig, open_session: OpenSession) -> None:
    job_id = rig.ensure_job()
    admin = open_session(rig.admin)
    page, keys = admin.page, Keyboard(admin.page)
    admin.go(f"/jobs/{job_id}", shows=NAME)
    keys.focus(page.locator(".react-flow__node", has_text="prices"))
    page.screenshot(path=admin.screenshot_path("keyboard-graph"))
    keys.press("Enter")
    side_panel = page.get_by_role("complementary", name=re.compile("prices"))
    expect(side_panel).to_contain_text("Subtask")
    keys.press("Escape")
    expect(side_panel).to_have_count(0)
    assert not keys.hidden_focus, "\n".join(keys.hidden_focus)
