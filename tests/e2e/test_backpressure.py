"""The pages of a job whose external service does not respond."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.e2e.conftest import OpenSession
from tests.e2e.rig import Rig

OK_BACKGROUND = "rgb(255, 255, 255)"
ACKNOWLEDGED = 4
"""Index of the cell with the acknowledgements in a checkpoint's row."""
HIGH_BACKGROUND = "rgb(253, 229, 227)"


def test_operators_are_coloured_during_backpressure_and_the_delayed_checkpoint_completes_afterwards(
    rig: Rig, open_session: OpenSession
) -> None:
    job_id = rig.ensure_job()
    admin = open_session(rig.admin)
    page = admin.page
    admin.go(f"/jobs/{job_id}", shows="orders")
    source = page.locator(".weir-chain", has_text="orders")
    status = page.get_by_test_id("checkpoint-status")
    expect(source).to_have_attribute("data-level", "ok")
    expect(source).to_have_css("background-color", OK_BACKGROUND)
    expect(status).to_contain_text("completed")

    with rig.prices_unavailable():
        expect(source).to_have_attribute("data-level", "high")
        expect(source.locator("strong")).to_have_text("high")
        expect(source).to_contain_text(re.compile(r"busy \S+ ?%.*pressure [5-9>1]\d+ ?%"))
        expect(source).to_have_css("background-color", HIGH_BACKGROUND)
        expect(status).to_contain_text("in progress")
        expect(status).to_contain_text("orders")
        delayed = re.search(r"Checkpoint (\d+)", status.inner_text())
        assert delayed is not None
        admin.check("job-overview-backpressure")
        admin.take_picture("job-overview-backpressure")

        admin.tab("Backpressure & alignment")
        now = admin.panel("Subtasks now")
        expect(now.get_by_role("row", name=re.compile(r"^orders.* high "))).to_be_visible()
        expect(now.get_by_role("button", name=re.compile(r"^orders.*\[0\]: \d+ ?% back-?pressured"))).to_be_visible()
        admin.check("job-backpressure-high")

        admin.tab("Checkpoints")
        row = admin.panel("History").get_by_role("row", name=re.compile(rf"^{delayed[1]}\b"))
        expect(row).to_contain_text("in progress")
        expect(row.get_by_role("cell").nth(ACKNOWLEDGED)).to_have_text(re.compile(r"^(?!(\d) of \1)\d of \d$"))
        row.get_by_role("button").first.click()
        expect(admin.panel(f"Checkpoint {delayed[1]}")).to_be_visible()
        admin.check("job-checkpoints-in-progress")

    expect(row).to_contain_text("completed")
    expect(row.get_by_role("cell").nth(ACKNOWLEDGED)).to_have_text(re.compile(r"^(\d+) of \1$"))
    admin.tab("Overview")
    expect(source).to_have_attribute("data-level", "ok")
    expect(source).to_have_css("background-color", OK_BACKGROUND)
