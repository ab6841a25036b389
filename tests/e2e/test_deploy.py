"""Log-in, deployment of a job file, and live updates of checkpoints."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.e2e.conftest import OpenSession
from tests.e2e.rig import CODE, INTERVAL, NAME, OLGA, RETAINED, Rig


def test_a_job_is_deployed_and_its_checkpoints_appear_without_a_reload(rig: Rig, open_session: OpenSession) -> None:
    rig.delete_job()
    olga = open_session(None)
    page = olga.page
    olga.go("/jobs", shows="Log in to Weir")
    olga.check("log-in")
    olga.log_in(OLGA)
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    olga.check("jobs-none")

    page.get_by_role("link", name="Deploy job").click()
    expect(page.get_by_role("heading", level=1, name="Deploy a job")).to_be_visible()
    page.get_by_role("button", name="Upload and compile").click()
    expect(page.get_by_text("Choose a .py, .zip or .whl file")).to_be_visible()
    olga.check("deploy-incomplete")
    page.get_by_label("Job file").set_input_files(CODE)
    page.get_by_role("textbox", name="Job name").fill(NAME)
    page.get_by_role("textbox", name="Description").fill("number and cost of orders per customer")
    page.get_by_role("textbox", name="Checkpoint interval").fill(INTERVAL)
    page.get_by_role("textbox", name="Retained checkpoints").fill(str(RETAINED))
    for at, (name, value) in enumerate(rig.parameters.items()):
        page.get_by_role("button", name="Add parameter").click()
        page.get_by_role("textbox", name="Name", exact=True).nth(at).fill(name)
        page.get_by_role("textbox", name="Value", exact=True).nth(at).fill(value)
    olga.check("deploy")
    page.get_by_role("button", name="Upload and compile").click()

    expect(page.get_by_role("heading", level=1, name=f"{NAME}, version 1")).to_be_visible()
    expect(page.get_by_text("Compilation succeeded. The job is not running yet.")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile(r"^5 operators: orders \("))).to_be_visible()
    olga.check("deploy-review")
    page.get_by_role("button", name="Start job").click()

    expect(page.get_by_role("heading", level=1, name=NAME)).to_be_visible()
    expect(olga.state).to_have_text("running")
    expect(page.locator(".weir-chain", has_text="prices")).to_be_visible()

    olga.tab("Checkpoints")
    numbers = olga.panel("History").get_by_role("button", name="checkpoint details")
    before = olga.number(numbers.first)
    row = olga.panel("History").get_by_role("row", name=re.compile(rf"^{before + 2}\b.*\bcompleted\b"))
    expect(row).to_be_visible()
    olga.panel("Latest checkpoints").get_by_role("button", name="Trigger savepoint").click()
    savepoint = olga.panel("History").get_by_role("row", name=re.compile("completed.*savepoint"))
    expect(savepoint.first).to_be_visible()
    job = rig.find()
    assert job is not None and job["created_at"] and job["run"]["cause"] == "start"
