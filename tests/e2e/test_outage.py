"""Pages during and after an outage of the API."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Request, expect
from tests.e2e.conftest import OpenSession
from tests.e2e.rig import NAME, VERA, WAIT_S, Rig, newest


def _last_event(request: Request) -> int:
    return int(request.headers.get("last-event-id", 0))


def test_a_page_shows_the_age_of_its_data_during_an_outage_and_the_missed_events_after_the_outage(
    rig: Rig, open_session: OpenSession
) -> None:
    job_id = rig.ensure_job()
    vera = open_session(VERA)
    page = vera.page
    resumed_after: list[int] = []
    page.on(
        "request",
        lambda one: resumed_after.append(_last_event(one)) if one.url.endswith(f"/jobs/{job_id}/events/stream") else None,
    )
    vera.go(f"/jobs/{job_id}/events", shows=NAME)
    live = page.locator("header").get_by_text("updates live", exact=True)
    expect(live).to_be_visible()
    log = vera.panel("Log")
    kinds = page.get_by_role("combobox", name="Kinds")
    kinds.fill("CheckpointCompleted")
    kinds.press("Enter")
    kinds.press("Escape")
    expect(log.get_by_role("row").nth(1)).to_contain_text("CheckpointCompleted")
    before = newest(rig.api.job(job_id))
    shown = int(log.get_by_role("row").nth(1).get_by_role("cell").first.inner_text())

    with vera.errors.allow_unreachable(page):
        with rig.api_killed():
            banner = page.get_by_role("status").filter(has_text="API unreachable since")
            expect(banner).to_contain_text("Jobs continue to run without the API")
            # The age is outside the status role, so that a screen reader does not announce it every second.
            expect(page.get_by_text(re.compile(r"This data is \d+(\.\d+)? s old"))).to_be_visible()
            expect(page.get_by_text(re.compile(r"^last update .* ago$"))).to_be_visible()
            expect(live).to_have_count(0)
            vera.check("job-api-unreachable")
        rig.wait_for_api()
        expect(live).to_be_visible()
        expect(banner).to_have_count(0)

    assert resumed_after[-1] >= shown, "the stream resumes after the last event"

    # The job continued during the outage, and new events of its driver appear without a reload.
    rig.api.wait(job_id, lambda job: newest(job) >= before + 3)
    for number in range(before + 1, before + 4):
        expect(log.get_by_role("row").filter(has_text=f"checkpoint {number} in ")).to_be_visible()


@pytest.mark.parametrize(
    ("child", "name", "sentence"),
    [
        ("valkey", "Redis", r"Redis has not answered for \d+ s\. Check the server of Redis\."),
        (
            "worker",
            "Workers",
            r"The worker worker@\S+ has not answered for \d+ s, and no other worker takes tasks from the queue weir\. Start or",
        ),
        ("postgres", "Postgres", r"Postgres has not answered for \d+ s\. Check the server of the database\."),
    ],
)
def test_every_page_names_a_component_of_the_platform_that_is_frozen(
    rig: Rig, open_session: OpenSession, child: str, name: str, sentence: str
) -> None:
    vera = open_session(VERA)
    page = vera.page
    vera.go("/alerts", shows="Alerts")
    healthy = page.get_by_role("button", name="Platform: all components are up")
    expect(healthy).to_be_visible(timeout=WAIT_S * 1_000)
    with vera.errors.allow_unreachable(page):
        with rig.frozen(child):
            expect(page.get_by_role("status").filter(has_text=f"Down: {name}.")).to_be_attached(timeout=WAIT_S * 1_000)
            expect(page.get_by_text(re.compile(sentence))).to_be_visible()
            vera.check(f"frozen-{child}")
        expect(healthy).to_be_visible(timeout=WAIT_S * 1_000)
