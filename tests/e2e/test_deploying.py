"""Somebody logs in, deploys a job from a file, starts it and sees its checkpoints complete without touching anything."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.e2e.conftest import Someone
from tests.e2e.shop import CODE, INTERVAL, NAME, OLGA, RETAINED, Shop


def test_a_job_is_deployed_by_hand_and_its_checkpoints_complete_before_ones_eyes(shop: Shop, someone: Someone) -> None:
    shop.forget_orders()
    olga = someone(None)
    page = olga.page
    olga.go("/jobs", shows="Log in to Weir")
    olga.look("log-in")
    olga.type_in(OLGA)
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    olga.look("jobs-none")

    page.get_by_role("link", name="Deploy…").click()
    expect(page.get_by_role("heading", level=1, name="Deploy a job")).to_be_visible()
    page.get_by_role("button", name="Upload and compile").click()
    expect(page.get_by_text("Choose a file: a .py, .zip or .whl")).to_be_visible()
    olga.look("deploy-incomplete")
    page.get_by_label("File of the job").set_input_files(CODE)
    page.get_by_role("textbox", name="Name of the job").fill(NAME)
    page.get_by_role("textbox", name="What it is for").fill("orders and what they cost, by customer")
    page.get_by_role("textbox", name="Checkpoint every").fill(INTERVAL)
    page.get_by_role("textbox", name="Keep the newest").fill(str(RETAINED))
    for at, (name, value) in enumerate(shop.parameters.items()):
        page.get_by_role("button", name="Add one").click()
        page.get_by_role("textbox", name="Name", exact=True).nth(at).fill(name)
        page.get_by_role("textbox", name="Value", exact=True).nth(at).fill(value)
    olga.look("deploy")
    page.get_by_role("button", name="Upload and compile").click()

    expect(page.get_by_role("heading", level=1, name=f"{NAME}, version 1")).to_be_visible()
    expect(page.get_by_text("It compiles. Nothing runs yet")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile(r"^5 operators: orders \("))).to_be_visible()
    olga.look("deploy-review")
    page.get_by_role("button", name="Start it").click()

    expect(page.get_by_role("heading", level=1, name=NAME)).to_be_visible()
    expect(olga.state).to_have_text("running")
    expect(page.locator(".weir-chain", has_text="prices")).to_be_visible()

    olga.tab("Checkpoints")
    numbers = olga.panel("History").get_by_role("button", name="more about this checkpoint")
    before = olga.number(numbers.first)
    row = olga.panel("History").get_by_role("row", name=re.compile(rf"^{before + 2}\b.*\bcompleted\b"))
    expect(row).to_be_visible()
    page.get_by_role("button", name="Take savepoint").click()
    savepoint = olga.panel("History").get_by_role("row", name=re.compile("completed.*savepoint"))
    expect(savepoint.first).to_be_visible()
    job = shop.find()
    assert job is not None and job["created_at"] and job["run"]["cause"] == "start"
