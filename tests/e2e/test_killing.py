"""A worker of a running job is killed: its page shows that it recovers, why, and how long that took."""

from __future__ import annotations

import os
import re
import signal

from playwright.sync_api import expect
from tests.e2e.conftest import Someone
from tests.e2e.shop import Shop
from tests.integration.platform.test_life_of_a_job import driver

from demo_worker import slot_processes

# What stands beside the name of the job, one after the other: some of it is shown for a moment only.
_NOTE_STATES = """() => {
  const header = document.querySelector('#main-content header');
  const states = window.statesOfTheJob = [];
  const note = () => {
    const state = header.querySelector('[data-state]')?.dataset.state;
    if (state !== states.at(-1)) states.push(state);
  };
  note();
  new MutationObserver(note).observe(header, { subtree: true, childList: true, attributes: true, characterData: true });
}"""
_HAS_RECOVERED = "() => window.statesOfTheJob.indexOf('RESTARTING') > 0 && window.statesOfTheJob.at(-1) === 'RUNNING'"


def test_a_worker_that_is_killed_is_replaced_and_that_is_told(shop: Shop, someone: Someone) -> None:
    job_id = shop.orders()
    admin = someone(shop.admin)
    page = admin.page
    admin.go(f"/jobs/{job_id}/runs", shows="orders")
    before = shop.api.job(job_id)["run"]
    run = admin.panel("Runs").get_by_role("row", name=re.compile(rf"^{before['number']} running"))
    expect(run.get_by_role("cell").nth(4)).to_have_text(str(before["generation"]))
    admin.tab("Overview")
    expect(page.locator(".weir-chain", has_text="prices")).to_be_visible()
    exceptions = page.get_by_role("region", name="Now").locator("div", has_text="Exceptions").locator("dd")
    told = int(exceptions.inner_text())
    page.evaluate(_NOTE_STATES)

    (killed, *_) = slot_processes(driver(shop.platform, shop.api, shop.api.job(job_id)).pid)
    os.kill(killed, signal.SIGKILL)
    page.wait_for_function(_HAS_RECOVERED)
    expect(exceptions).to_have_text(str(told + 1))
    expect(page.locator("#main-content header [data-state]").nth(1)).to_have_text("ok")
    admin.look("job-overview-recovered")

    admin.tab("Exceptions")
    newest = admin.panel("Exceptions").get_by_role("row").nth(1)
    expect(newest).to_contain_text("all subtasks, from the last checkpoint")
    expect(newest).to_contain_text(f"generation {before['generation']}")
    expect(newest.get_by_role("cell").last).to_have_text(re.compile(r"\d+ ?m?s"))
    admin.tab("Runs")
    expect(run.get_by_role("cell").nth(4)).to_have_text(str(before["generation"] + 1))
    admin.tab("Events")
    expect(admin.panel("Log").get_by_role("row", name=re.compile("Recovered")).first).to_be_visible()
    shop.runs_well(job_id)
    shop.counted()
