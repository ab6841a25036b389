"""Every page, every tab of a job and every dialog: no complaints, readable by everybody in both themes, and no wider than 1280 px."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.e2e.person import Person, person
from tests.e2e.shop import NAME, Shop


@dataclass(frozen=True, slots=True)
class Place:
    """``path``: with ``{job}`` for the id of the job. ``shows``: what is there once the page is. ``open``: what is done before one looks."""

    name: str
    path: str
    shows: Callable[[Page], Locator]
    open: Callable[[Page], object] = lambda _: None


def text(words: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_text(re.compile(words)).first


def button(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("button", name=name).first


def field(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("textbox", name=name).first


def canvas(count: int) -> Callable[[Page], Locator]:
    """The last one of so many charts."""
    return lambda page: page.locator("canvas").nth(count - 1)


def press(*names: str) -> Callable[[Page], None]:
    """One after the other, the last that is called so in each case: a dialog comes after what opens it."""

    def pressed(page: Page) -> None:
        for name in names:
            page.get_by_role("button", name=name).or_(page.get_by_role("menuitem", name=name)).last.click()

    return pressed


def dialog(title: str) -> Callable[[Page], None]:
    return lambda page: expect(page.get_by_role("dialog", name=title)).to_be_visible()


def both(*steps: Callable[[Page], object]) -> Callable[[Page], None]:
    def done(page: Page) -> None:
        for step in steps:
            step(page)

    return done


def unfold_one(page: Page) -> Locator:
    """And no other: which one is open is kept. What is said of it."""
    found = re.search(r"\d+", page.get_by_role("button", name="more about this checkpoint", expanded=False).nth(2).inner_text())
    assert found is not None
    # Newer ones come on top of it meanwhile.
    page.get_by_role("button", name=f"{found[0]} more about this checkpoint", exact=True).click()
    detail = page.get_by_role("region", name=f"Checkpoint {found[0]}", exact=True)
    expect(detail.get_by_role("region", name="Timeline")).to_be_visible()
    expect(page.get_by_role("region", name=re.compile(r"^Checkpoint \d+$"))).to_have_count(1)
    return detail


def unfold(page: Page) -> None:
    unfold_one(page).get_by_role("button", name=re.compile("^Subtasks of ")).first.click()


def replay(page: Page) -> None:
    page.get_by_role("button", name="Replay the last").click()
    expect(page.get_by_role("group", name="Replay")).to_be_visible()
    page.locator(".react-flow__node", has_text="prices").click()
    expect(page.get_by_role("complementary")).to_be_visible()


def pin(page: Page) -> None:
    unfold_one(page).get_by_role("button", name="Pin", exact=True).click()
    dialog("Pin checkpoint")(page)


def menu(page: Page) -> None:
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("menuitem", name="Rescale…")).to_be_visible()


def entry(page: Page) -> None:
    page.get_by_role("button", name=re.compile("create of job")).click()
    expect(page.get_by_role("table", name="Before and after")).to_be_visible()


def account(page: Page) -> None:
    page.get_by_role("button", name="admin: account").click()
    expect(page.get_by_role("menuitem", name="Logout")).to_be_visible()


def difference(page: Page) -> None:
    page.get_by_role("button", name="What differs").click()
    expect(page.get_by_role("cell", name="parameters.rate")).to_be_visible()


def new_token(page: Page) -> None:
    page.get_by_role("textbox", name="Name").fill("a look at it")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("It is shown this once.")).to_be_visible()


PLACES = (
    Place("home", "/", text("^Oldest last checkpoint")),
    Place("jobs", "/jobs", text(r"\d+(\.\d+)? k?/s|\d/s$")),
    Place("job-overview", "/jobs/{job}", text("^prices$")),
    Place("job-overview-replay", "/jobs/{job}", text("^prices$"), replay),
    Place("job-more", "/jobs/{job}", text("^prices$"), menu),
    Place("job-suspend", "/jobs/{job}", text("^prices$"), both(press("Suspend"), dialog("Suspend orders?"))),
    Place("job-rescale", "/jobs/{job}", text("^prices$"), both(press("More", "Rescale…"), dialog("Rescale orders"))),
    Place("job-checkpoints", "/jobs/{job}/checkpoints", canvas(4)),
    Place("job-checkpoint", "/jobs/{job}/checkpoints", canvas(4), unfold),
    Place("job-pin", "/jobs/{job}/checkpoints", canvas(4), pin),
    Place("job-backpressure", "/jobs/{job}/backpressure", canvas(2)),
    Place("job-recovery-now", "/jobs/{job}/recovery", text("^The job began, without any state|^Run ")),
    Place(
        "job-restore",
        "/jobs/{job}/recovery",
        text("^The job began"),
        both(press("Restore from a path…"), dialog("Restore orders from a path")),
    ),
    Place("job-exceptions", "/jobs/{job}/exceptions", text("^Downtime$|^Nothing has gone wrong")),
    Place("job-events", "/jobs/{job}/events", text("^CheckpointCompleted$")),
    Place("job-versions", "/jobs/{job}/versions", text("^Uploaded|^Comment|in force")),
    Place("job-configuration", "/jobs/{job}/configuration", text("^Version in force$")),
    Place("job-runs", "/jobs/{job}/runs", text("^Generations$")),
    Place("job-none", "/jobs/4711", text("It is not there")),
    Place("deploy-new-version", "/jobs/{job}/new-version", field("Parallelism")),
    Place("deploy-version", "/jobs/{job}/review/1", text("^This is the version in force")),
    Place("alerts", "/alerts", text("^Resolved$")),
    Place("rules", "/alert-rules", text("^any restart$")),
    Place("rule-new", "/alert-rules/create", field("Name")),
    Place("rule", "/alert-rules/1", field("Name")),
    Place("rule-delete", "/alert-rules/1", field("Name"), both(press("Delete"), dialog("Delete rule"))),
    Place("webhooks", "/webhooks", text("^on-call$")),
    Place("webhook-new", "/webhooks/create", field("URL")),
    Place("webhook", "/webhooks/1", field("URL")),
    Place("tokens", "/tokens", text("^deployments from CI$")),
    Place("token-new", "/tokens/create", field("Name")),
    Place("token-made", "/tokens/create", field("Name"), new_token),
    Place("users", "/users", text("^vera$")),
    Place("user-new", "/users/create", field("Name")),
    Place("user", "/users/2", text("^Logs in by$")),
    Place("user-password", "/users/2", text("^Logs in by$"), both(press("Reset the password"), dialog("A new password for"))),
    Place("audit", "/audit", text("^Request$|ago$")),
    Place("audit-entry", "/audit", text("^Request$|ago$"), entry),
    Place("account", "/tokens", text("^deployments from CI$"), account),
    Place("nowhere", "/no-such-page", text("^There is no such page$")),
    Place("deploy-invalid", "/jobs/{job}/review/2", text("^Nothing was started$")),
    Place("deploy-upgrade", "/jobs/{job}/review/3", text("^Stop with a last checkpoint and go on"), difference),
)


@pytest.fixture(scope="module")
def visitor(browser: Browser, shop: Shop) -> Iterator[Person]:
    """One for all pages: a browser keeps what it has loaded."""
    with ExitStack() as opened:
        one = opened.enter_context(person(browser, shop.url))
        one.is_logged_in(shop.admin)
        shop.orders()
        shop.new_versions()
        yield one


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_a_page_can_be_read_by_everybody(shop: Shop, visitor: Person, place: Place) -> None:
    job_id = shop.orders()
    page = visitor.page
    visitor.complaints.found.clear()
    visitor.faults.clear()
    visitor.go(place.path.format(job=job_id))
    expect(place.shows(page)).to_be_visible()
    place.open(page)
    visitor.look(place.name)
    complaints = visitor.complaints.found
    if place.name == "job-none":
        # Browsers write down what they were refused; that it is not there is just what is looked at.
        complaints = [one for one in complaints if "404" not in one]
    assert not complaints + visitor.faults, "\n".join(complaints + visitor.faults)


def test_with_the_menu_folded_its_pages_are_found_by_their_signs(shop: Shop, visitor: Person) -> None:
    visitor.complaints.found.clear()
    visitor.faults.clear()
    page = visitor.page
    visitor.go("/", shows="Home")
    page.get_by_role("button", name="Close menu").click()
    expect(page.get_by_role("button", name="Open menu")).to_be_visible()
    visitor.look("home-menu-folded")
    page.get_by_role("menuitem", name="Jobs", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    page.get_by_role("button", name="Open menu").click()
    assert not visitor.complaints.found + visitor.faults, "\n".join(visitor.complaints.found + visitor.faults)


def test_the_theme_is_changed_by_its_button_and_kept(shop: Shop, visitor: Person) -> None:
    page = visitor.page
    visitor.go("/", shows="Home")
    root = page.locator("html")
    before = root.evaluate("one => getComputedStyle(one).colorScheme")
    after = {"light": "dark", "dark": "light"}[before]
    page.get_by_role("button", name="Toggle light/dark mode").click()
    expect(root).to_have_css("color-scheme", after)
    page.reload()
    expect(page.get_by_role("heading", level=1, name="Home")).to_be_visible()
    expect(root).to_have_css("color-scheme", after)


def test_the_log_in_page_says_what_was_wrong_and_can_be_read(browser: Browser, shop: Shop) -> None:
    with person(browser, shop.url) as nobody:
        nobody.go("/login", shows="Log in to Weir")
        nobody.page.get_by_role("textbox", name="Name").fill(NAME)
        nobody.page.get_by_label("Password").fill("not the right one")
        nobody.page.get_by_role("button", name="Log in", exact=True).click()
        expect(nobody.page.get_by_role("alert")).to_be_visible()
        nobody.look("log-in-refused")
        assert nobody.faults == []
