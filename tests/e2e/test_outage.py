"""The API dies: pages say how old is what they show, and catch up when it is there again."""

from __future__ import annotations

import re

from playwright.sync_api import Request, expect
from tests.e2e.conftest import Someone
from tests.e2e.shop import NAME, VERA, Shop, newest


def _last_event(request: Request) -> int:
    return int(request.headers.get("last-event-id", 0))


def test_while_nobody_answers_the_age_of_what_is_shown_is_said_and_it_catches_up(shop: Shop, someone: Someone) -> None:
    job_id = shop.orders()
    vera = someone(VERA)
    page = vera.page
    asked_after: list[int] = []
    page.on(
        "request", lambda one: asked_after.append(_last_event(one)) if one.url.endswith(f"/jobs/{job_id}/events/stream") else None
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
    before = newest(shop.api.job(job_id))
    shown = int(log.get_by_role("row").nth(1).get_by_role("cell").first.inner_text())

    with vera.complaints.nobody_there(page):
        with shop.api_away():
            banner = page.get_by_role("status").filter(has_text="Out of reach: the control plane does not answer")
            expect(banner).to_contain_text("jobs go on without it")
            # Beside it: a screen reader is not told each second that it is another one.
            expect(page.get_by_text(re.compile(r"What you see is \d+(\.\d+)? s old"))).to_be_visible()
            expect(page.get_by_text(re.compile(r"^last heard .* ago$"))).to_be_visible()
            expect(live).to_have_count(0)
            vera.look("job-out-of-reach")
        shop.wait_for_api()
        expect(live).to_be_visible()
        expect(banner).to_have_count(0)

    assert asked_after[-1] >= shown, "it asks for what comes after the last that it was told"

    # The job went on meanwhile, and what its driver told afterwards is in the log without a reload.
    shop.api.wait(job_id, lambda job: newest(job) >= before + 3)
    for number in range(before + 1, before + 4):
        expect(log.get_by_role("row").filter(has_text=f"checkpoint {number} in ")).to_be_visible()
