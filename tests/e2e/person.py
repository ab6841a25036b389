"""Somebody in front of a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from tests.e2e.complaints import Complaints
from tests.e2e.readable import sideways, violations
from tests.e2e.shop import Account

PICTURES = Path(__file__).parents[2] / "build" / "e2e"
SCROLL_BAR = 15
WIDE, HIGH = 1280 - SCROLL_BAR, 800
"""Of a window of 1280 x 800, with a scroll bar that takes its room away; in pictures there is none."""
THEMES = ("dark", "light")
"""In this order: a story goes on in the light one."""
WAIT_MS = 120_000

# As if it had been changed in another window: also where the button for it is behind a dialog.
_SET_THEME = """theme => {
  const key = 'RaStoreweir.theme';
  const newValue = JSON.stringify(theme);
  localStorage.setItem(key, newValue);
  window.dispatchEvent(new StorageEvent('storage', { key, newValue }));
}"""
# Charts are drawn anew when they are seen, one in each frame. What stands fast in the window is drawn where the page was scrolled to.
_SEE_ALL = """async () => {
  for (const top of [document.documentElement.scrollHeight, 0]) {
    window.scrollTo(0, top);
    for (let frames = 0; frames < 12; frames += 1) await new Promise(requestAnimationFrame);
  }
}"""


class Person:
    def __init__(self, context: BrowserContext, url: str) -> None:
        self._url = url
        self._context = context
        self.complaints = Complaints(context)
        self.page: Page = context.new_page()
        self.faults: list[str] = []
        """Of what was looked at."""

    def go(self, path: str, *, shows: str | None = None) -> None:
        """``shows``: the heading of the page."""
        self.page.goto(f"{self._url}{path}")
        if shows is not None:
            expect(self.page.get_by_role("heading", level=1, name=shows)).to_be_visible()

    def type_in(self, account: Account) -> None:
        """On the log-in page."""
        self.page.get_by_role("textbox", name="Name").fill(account.name)
        self.page.get_by_label("Password").fill(account.password)
        self.page.get_by_role("button", name="Log in", exact=True).click()

    def is_logged_in(self, account: Account) -> None:
        """Without the page: its cookie is had by asking for it."""
        answer = self._context.request.post(
            f"{self._url}/api/v1/session", data={"name": account.name, "password": account.password}
        )
        assert answer.ok, answer.text()

    def tab(self, name: str) -> None:
        """Of the page of a job."""
        self.page.get_by_role("tab", name=name).click()
        expect(self.page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")

    @property
    def state(self) -> Locator:
        """Of the job whose page this is, beside its name."""
        return self.page.locator("#main-content header [data-state]").first

    def panel(self, name: str) -> Locator:
        return self.page.get_by_role("region", name=name, exact=True)

    def picture(self, name: str) -> Path:
        return PICTURES / f"{name}.png"

    def begin_trace(self) -> None:
        self._context.tracing.start(snapshots=True)

    def end_trace(self, kept: Path | None) -> None:
        """``kept``: where it is, and a picture of how it ended; None: nowhere."""
        if kept is None:
            self._context.tracing.stop()
            return
        self.page.screenshot(path=f"{kept}.png")
        self._context.tracing.stop(path=f"{kept}.zip")

    def look(self, name: str) -> None:
        """At what is there now, in both themes: a picture of each. Where it cannot be read by everybody, or is too wide, that is among the faults."""
        self.page.evaluate("document.fonts.ready")
        # What waits has nothing to be looked at yet.
        expect(self.page.locator("[role=status][aria-label^=Loading]")).to_have_count(0)
        for theme in THEMES:
            self.page.evaluate(_SET_THEME, theme)
            expect(self.page.locator("html")).to_have_css("color-scheme", theme)
            self.page.evaluate(_SEE_ALL)
            self.page.screenshot(path=self.picture(f"{name}-{theme}"), full_page=True, animations="disabled")
            self.faults += [f"{name}, {theme}: {problem}" for problem in violations(self.page) + sideways(self.page)]

    def number(self, button: Locator) -> int:
        """The first one that the name of this button has in it."""
        found = re.search(r"\d+", button.get_attribute("aria-label") or button.inner_text())
        assert found is not None
        return int(found[0])


@contextmanager
def person(browser: Browser, url: str) -> Iterator[Person]:
    context = browser.new_context(
        viewport={"width": WIDE, "height": HIGH},
        # Colours that are on their way to others cannot be judged.
        reduced_motion="reduce",
        color_scheme="light",
        locale="en-GB",
    )
    context.set_default_timeout(WAIT_MS)
    try:
        yield Person(context, url)
    finally:
        context.close()
