"""The pages of a job after one of its slots was killed."""

from __future__ import annotations

import os
import re
import signal

from playwright.sync_api import expect
from tests.e2e.conftest import OpenSession
from tests.e2e.rig import Rig
from tests.integration.platform.test_life_of_a_job import driver

from demo_slots import slot_processes

# Records all states that are shown next to the name of the job, because some of them are visible only briefly.
_RECORD_STATES = """() => {
  const header = document.querySelector('#main-content header');
  const states = window.statesOfTheJob = [];
  const record = () => {
    const state = header.querySelector('[data-state]')?.dataset.state;
    if (state !== states.at(-1)) states.push(state);
  };
  record();
  new MutationObserver(record).observe(header, { subtree: true, childList: true, attributes: true, characterData: true });
}"""
_HAS_RECOVERED = "() => window.statesOfTheJob.indexOf('RESTARTING') > 0 && window.statesOfTheJob.at(-1) === 'RUNNING'"


def test_the_recovery_from_a_killed_slot_is_shown_with_cause_and_duration(rig: Rig, open_session: OpenSession) -> None:
    job_id = rig.ensure_job()
    admin = open_session(rig.admin)
    page = admin.page
    admin.go(f"/jobs/{job_id}/runs", shows="orders")
    before = rig.api.job(job_id)["run"]
    run = admin.panel("Runs").get_by_role("row", name=re.compile(rf"^{before['number']} running"))
    expect(run.get_by_role("cell").nth(4)).to_have_text(str(before["generation"]))
    admin.tab("Overview")
    expect(page.locator(".weir-chain", has_text="prices")).to_be_visible()
    exceptions = page.get_by_role("region", name="Job summary").locator("div", has_text="Exceptions").locator("dd")
    before_kill = int(exceptions.inner_text())
    page.evaluate(_RECORD_STATES)

    (killed, *_) = slot_processes(driver(rig.platform, rig.api, rig.api.job(job_id)).pid)
    os.kill(killed, signal.SIGKILL)
    page.wait_for_function(_HAS_RECOVERED)
    expect(exceptions).to_have_text(str(before_kill + 1))
    expect(page.locator("#main-content header [data-state]").nth(1)).to_have_text("healthy")
    admin.check("job-overview-recovered")

    admin.tab("Exceptions")
    newest = admin.panel("Exceptions").get_by_role("row").nth(1)
    expect(newest).to_contain_text("all subtasks restart from the last checkpoint")
    expect(newest).to_contain_text(f"generation {before['generation']}")
    expect(newest.get_by_role("cell").last).to_have_text(re.compile(r"\d+ ?m?s"))
    newest.get_by_role("link", name="View log").click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("failure, recovering")
    failure = log.locator("[aria-current=true]")
    failure.get_by_role("button").click()
    expect(failure.get_by_role("term").first).to_be_in_viewport()
    expect(page.get_by_role("switch", name="Follow")).not_to_be_checked()
    admin.check("job-logs-failure")
    admin.tab("Runs")
    expect(run.get_by_role("cell").nth(4)).to_have_text(str(before["generation"] + 1))
    admin.tab("Events")
    expect(admin.panel("Log").get_by_role("row", name=re.compile("Recovered")).first).to_be_visible()
    rig.wait_until_running(job_id)
    rig.count_output()
