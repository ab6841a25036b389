"""All pages, tabs and dialogs have no errors, are accessible in both themes, and fit into 1280 px."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.e2e.browser_session import BrowserSession, browser_session
from tests.e2e.rig import NAME, Rig


@dataclass(frozen=True, slots=True)
class PageCase:
    """A page to check. ``{job}`` in ``path`` is replaced by the id of the job.

    ``shows`` returns an element that is visible once the page is loaded. ``open`` executes user actions before the check.
    """

    name: str
    path: str
    shows: Callable[[Page], Locator]
    open: Callable[[Page], object] = lambda _: None


def text(pattern: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_text(re.compile(pattern)).first


def button(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("button", name=name).first


def field(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("textbox", name=name).first


def canvas(count: int) -> Callable[[Page], Locator]:
    """Return the last of ``count`` charts."""
    return lambda page: page.locator("canvas").nth(count - 1)


def press(*names: str) -> Callable[[Page], None]:
    """Press the buttons or menu items in the given order. If several buttons or items have the same name, press the last
    one, because dialogs come last in the document."""

    def press_all(page: Page) -> None:
        for name in names:
            page.get_by_role("button", name=name).or_(page.get_by_role("menuitem", name=name)).last.click()

    return press_all


def dialog(title: str) -> Callable[[Page], None]:
    return lambda page: expect(page.get_by_role("dialog", name=title)).to_be_visible()


def in_order(*steps: Callable[[Page], object]) -> Callable[[Page], None]:
    def run_all(page: Page) -> None:
        for step in steps:
            step(page)

    return run_all


def expand_checkpoint(page: Page) -> Locator:
    """Expand a checkpoint, and wait until the previously expanded checkpoint is collapsed. Return the details of the checkpoint."""
    found = re.search(r"\d+", page.get_by_role("button", name="checkpoint details", expanded=False).nth(2).inner_text())
    assert found is not None
    # Find the checkpoint by its number, because newer checkpoints can move its row down.
    page.get_by_role("button", name=f"{found[0]} checkpoint details", exact=True).click()
    detail = page.get_by_role("region", name=f"Checkpoint {found[0]}", exact=True)
    expect(detail.get_by_role("region", name="Timeline")).to_be_visible()
    expect(page.get_by_role("region", name=re.compile(r"^Checkpoint \d+$"))).to_have_count(1)
    return detail


def expand_subtasks(page: Page) -> None:
    expand_checkpoint(page).get_by_role("button", name=re.compile("^Subtasks of ")).first.click()


def replay(page: Page) -> None:
    page.get_by_role("button", name="Replay last checkpoint").click()
    expect(page.get_by_role("group", name="Replay")).to_be_visible()
    page.locator(".react-flow__node", has_text="prices").click()
    expect(page.get_by_role("complementary")).to_be_visible()


def pin(page: Page) -> None:
    expand_checkpoint(page).get_by_role("button", name="Pin", exact=True).click()
    dialog("Pin checkpoint")(page)


def menu(page: Page) -> None:
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("menuitem", name="Rescale…")).to_be_visible()


def open_entry(page: Page) -> None:
    page.get_by_role("button", name=re.compile("create of job")).click()
    expect(page.get_by_role("table", name="Before and after")).to_be_visible()


def palette(page: Page) -> None:
    page.keyboard.press("Control+K")
    expect(page.get_by_role("option", name="Backpressure & alignment")).to_be_visible()


def account(page: Page) -> None:
    page.get_by_role("button", name="admin: account").click()
    expect(page.get_by_role("menuitem", name="Logout")).to_be_visible()


def compare_versions(page: Page) -> None:
    page.get_by_role("button", name="Compare versions").click()
    expect(page.get_by_role("cell", name="parameters.rate")).to_be_visible()


def new_token(page: Page) -> None:
    page.get_by_role("textbox", name="Name").fill("a token for this test")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("This value is shown only once.")).to_be_visible()


PAGES = (
    PageCase("home", "/", text("^Stalest checkpoint")),
    PageCase("jobs", "/jobs", text(r"\d+(\.\d+)? k?/s|\d/s$")),
    PageCase("job-overview", "/jobs/{job}", text("^prices$")),
    PageCase("job-overview-replay", "/jobs/{job}", text("^prices$"), replay),
    PageCase("job-more", "/jobs/{job}", text("^prices$"), menu),
    PageCase("command-palette", "/jobs/{job}", text("^prices$"), palette),
    PageCase("job-suspend", "/jobs/{job}", text("^prices$"), in_order(press("Suspend"), dialog("Suspend orders?"))),
    PageCase("job-rescale", "/jobs/{job}", text("^prices$"), in_order(press("More", "Rescale…"), dialog("Rescale orders"))),
    PageCase("job-checkpoints", "/jobs/{job}/checkpoints", canvas(4)),
    PageCase("job-checkpoint", "/jobs/{job}/checkpoints", canvas(4), expand_subtasks),
    PageCase("job-pin", "/jobs/{job}/checkpoints", canvas(4), pin),
    PageCase("job-backpressure", "/jobs/{job}/backpressure", canvas(2)),
    PageCase("job-profiler", "/jobs/{job}/profiler", text("^Profile a slot$")),
    PageCase("job-recovery-now", "/jobs/{job}/recovery", text("^Job started without state|^Run ")),
    PageCase(
        "job-restore",
        "/jobs/{job}/recovery",
        text("^Job started"),
        in_order(press("Restore from path…"), dialog("Restore orders from a path")),
    ),
    PageCase("job-exceptions", "/jobs/{job}/exceptions", text("^Downtime$|^No exceptions")),
    PageCase("job-logs", "/jobs/{job}/logs", text("lines? loaded|^No lines yet$")),
    PageCase("job-events", "/jobs/{job}/events", text("^CheckpointCompleted$")),
    PageCase("job-versions", "/jobs/{job}/versions", text("^Uploaded|^Comment|^current$")),
    PageCase("job-configuration", "/jobs/{job}/configuration", text("^Current version$")),
    PageCase("job-runs", "/jobs/{job}/runs", text("^Generations$")),
    PageCase("job-none", "/jobs/4711", text("^Not found$")),
    PageCase("deploy-new-version", "/jobs/{job}/new-version", field("Parallelism")),
    PageCase("deploy-version", "/jobs/{job}/review/1", text("^This is the current version")),
    PageCase("alerts", "/alerts", text("^Resolved$")),
    PageCase("rules", "/alert-rules", text("^any restart$")),
    PageCase("rule-new", "/alert-rules/create", field("Name")),
    PageCase("rule", "/alert-rules/1", field("Name")),
    PageCase("rule-delete", "/alert-rules/1", field("Name"), in_order(press("Delete"), dialog("Delete rule"))),
    PageCase("webhooks", "/webhooks", text("^on-call$")),
    PageCase("webhook-new", "/webhooks/create", field("URL")),
    PageCase("webhook", "/webhooks/1", field("URL")),
    PageCase("tokens", "/tokens", text("^deployments from CI$")),
    PageCase("token-new", "/tokens/create", field("Name")),
    PageCase("token-created", "/tokens/create", field("Name"), new_token),
    PageCase("secrets", "/secrets", text("^secret:orders$")),
    PageCase("secret-new", "/secrets/create", field("Value")),
    PageCase("secret", "/secrets/1", field("New value")),
    PageCase("users", "/users", text("^vera$")),
    PageCase("user-new", "/users/create", field("Name")),
    PageCase("user", "/users/2", text("^Login methods$")),
    PageCase(
        "user-password", "/users/2", text("^Login methods$"), in_order(press("Reset password"), dialog("Set a new password for"))
    ),
    PageCase("audit", "/audit", text("^Request$|ago$")),
    PageCase("audit-entry", "/audit", text("^Request$|ago$"), open_entry),
    PageCase("account", "/tokens", text("^deployments from CI$"), account),
    PageCase("not-found", "/no-such-page", text("^This page does not exist$")),
    PageCase("deploy-invalid", "/jobs/{job}/review/2", text("^The job was not started$")),
    PageCase("deploy-upgrade", "/jobs/{job}/review/3", text("^Stop with a final checkpoint and resume"), compare_versions),
)


@pytest.fixture(scope="module")
def session(browser: Browser, rig: Rig) -> Iterator[BrowserSession]:
    """A session that all tests share, because the browser cache makes pages load faster."""
    with ExitStack() as opened:
        one = opened.enter_context(browser_session(browser, rig.url))
        one.log_in_by_api(rig.admin)
        rig.ensure_job()
        rig.add_versions()
        yield one


@pytest.mark.parametrize("case", PAGES, ids=lambda case: case.name)
def test_a_page_has_no_errors_and_is_accessible(rig: Rig, session: BrowserSession, case: PageCase) -> None:
    job_id = rig.ensure_job()
    page = session.page
    session.errors.messages.clear()
    session.problems.clear()
    session.go(case.path.format(job=job_id))
    expect(case.shows(page)).to_be_visible()
    case.open(page)
    session.check(case.name)
    messages = session.errors.messages
    if case.name == "job-none":
        # The browser logs the expected status 404 as an error.
        messages = [one for one in messages if "404" not in one]
    assert not messages + session.problems, "\n".join(messages + session.problems)


def test_the_collapsed_menu_is_accessible(rig: Rig, session: BrowserSession) -> None:
    session.errors.messages.clear()
    session.problems.clear()
    page = session.page
    session.go("/", shows="Home")
    page.get_by_role("button", name="Close menu").click()
    expect(page.get_by_role("button", name="Open menu")).to_be_visible()
    session.check("home-menu-collapsed")
    page.get_by_role("menuitem", name="Jobs", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    page.get_by_role("button", name="Open menu").click()
    assert not session.errors.messages + session.problems, "\n".join(session.errors.messages + session.problems)


def test_a_changed_theme_is_kept_after_a_reload(rig: Rig, session: BrowserSession) -> None:
    page = session.page
    session.go("/", shows="Home")
    root = page.locator("html")
    before = root.evaluate("one => getComputedStyle(one).colorScheme")
    after = {"light": "dark", "dark": "light"}[before]
    page.get_by_role("button", name="Toggle light/dark mode").click()
    expect(root).to_have_css("color-scheme", after)
    page.reload()
    expect(page.get_by_role("heading", level=1, name="Home")).to_be_visible()
    expect(root).to_have_css("color-scheme", after)


def test_the_log_in_page_shows_an_error_and_is_accessible(browser: Browser, rig: Rig) -> None:
    with browser_session(browser, rig.url) as session:
        session.go("/login", shows="Log in to Weir")
        session.page.get_by_role("textbox", name="Name").fill(NAME)
        session.page.get_by_label("Password").fill("wrong password")
        session.page.get_by_role("button", name="Log in", exact=True).click()
        expect(session.page.get_by_role("alert")).to_be_visible()
        session.check("log-in-refused")
        assert session.problems == []
