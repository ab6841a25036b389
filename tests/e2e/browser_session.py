"""A browser session of a user."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from tests.e2e.accessibility import axe_violations, horizontal_overflow
from tests.e2e.page_errors import PageErrors
from tests.e2e.rig import Account

SCREENSHOTS = Path(__file__).parents[2] / "build" / "e2e"
PICTURES = SCREENSHOTS / "pictures"
PICTURE_SCALE = 2
"""Pixels per CSS pixel, for displays with a high resolution."""
SCROLL_BAR = 15
WIDE, HIGH = 1280 - SCROLL_BAR, 800
"""The viewport of a 1280 x 800 window without the scroll bar."""
THEMES = ("dark", "light")
"""The themes of the screenshots, in the order in which the screenshots are taken. After the screenshots, the page keeps
the last theme."""
WAIT_MS = 120_000

# Simulates a change of the theme in another window, because a dialog can cover the theme button.
_SET_THEME = """theme => {
  const key = 'RaStoreweir.theme';
  const newValue = JSON.stringify(theme);
  localStorage.setItem(key, newValue);
  window.dispatchEvent(new StorageEvent('storage', { key, newValue }));
}"""
# Scrolls through the page, because charts are drawn only when they become visible. Scrolls back to the top at the end, because
# fixed elements are drawn at the scroll position.
_SCROLL_THROUGH = """async () => {
  for (const top of [document.documentElement.scrollHeight, 0]) {
    window.scrollTo(0, top);
    for (let frames = 0; frames < 12; frames += 1) await new Promise(requestAnimationFrame);
  }
}"""
# Returns the rectangle of the page without the navigation and its border, in CSS pixels.
_CONTENT = """() => {
  const { x, y, width } = document.getElementById('main-content').getBoundingClientRect();
  return { x, y: y + 1, width, height: document.documentElement.scrollHeight - y - 1 };
}"""


class BrowserSession:
    def __init__(self, context: BrowserContext, url: str) -> None:
        self._url = url
        self._context = context
        self.errors = PageErrors(context)
        self.page: Page = context.new_page()
        self.problems: list[str] = []
        """Problems that ``check`` found."""

    def go(self, path: str, *, shows: str | None = None) -> None:
        """Open a path and wait for the heading ``shows``."""
        self.page.goto(f"{self._url}{path}")
        if shows is not None:
            expect(self.page.get_by_role("heading", level=1, name=shows)).to_be_visible()

    def log_in(self, account: Account) -> None:
        """Log in on the log-in page."""
        self.page.get_by_role("textbox", name="Name").fill(account.name)
        self.page.get_by_label("Password").fill(account.password)
        self.page.get_by_role("button", name="Log in", exact=True).click()

    def log_in_by_api(self, account: Account) -> None:
        """Log in by an API request, which sets the session cookie."""
        answer = self._context.request.post(
            f"{self._url}/api/v1/session", data={"name": account.name, "password": account.password}
        )
        assert answer.ok, answer.text()

    def tab(self, name: str) -> None:
        """Open a tab of a job."""
        self.page.get_by_role("tab", name=name).click()
        expect(self.page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")

    @property
    def state(self) -> Locator:
        """The state that is shown next to the name of the job."""
        return self.page.locator("#main-content header [data-state]").first

    def panel(self, name: str) -> Locator:
        return self.page.get_by_role("region", name=name, exact=True)

    def screenshot_path(self, name: str) -> Path:
        return SCREENSHOTS / f"{name}.png"

    def begin_trace(self) -> None:
        self._context.tracing.start(snapshots=True)

    def end_trace(self, kept: Path | None) -> None:
        """Save a screenshot as ``{kept}.png`` and the trace as ``{kept}.zip``. If ``kept`` is None, only discard the trace."""
        if kept is None:
            self._context.tracing.stop()
            return
        self.page.screenshot(path=f"{kept}.png")
        self._context.tracing.stop(path=f"{kept}.zip")

    def check(self, name: str) -> None:
        """Take a screenshot in both themes and add accessibility and width problems to ``problems``."""
        self.page.evaluate("document.fonts.ready")
        # Wait until nothing is loading.
        expect(self.page.locator("[role=status][aria-label^=Loading]")).to_have_count(0)
        for theme in THEMES:
            self._show_in(theme)
            self.page.screenshot(path=self.screenshot_path(f"{name}-{theme}"), full_page=True, animations="disabled")
            self.problems += [
                f"{name}, {theme}: {problem}" for problem in axe_violations(self.page) + horizontal_overflow(self.page)
            ]

    def take_picture(self, name: str) -> None:
        """Take a picture of the page's content for `make pictures`, in both themes."""
        screen = self._context.new_cdp_session(self.page)
        PICTURES.mkdir(parents=True, exist_ok=True)
        for theme in THEMES:
            self._show_in(theme)
            clip = {**self.page.evaluate(_CONTENT), "scale": PICTURE_SCALE}
            taken = screen.send("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})
            (PICTURES / f"{name}-{theme}.png").write_bytes(base64.b64decode(taken["data"]))
        screen.detach()

    def _show_in(self, theme: str) -> None:
        self.page.evaluate(_SET_THEME, theme)
        expect(self.page.locator("html")).to_have_css("color-scheme", theme)
        self.page.evaluate(_SCROLL_THROUGH)

    def number(self, button: Locator) -> int:
        """Return the first number in the name of the button."""
        found = re.search(r"\d+", button.get_attribute("aria-label") or button.inner_text())
        assert found is not None
        return int(found[0])


@contextmanager
def browser_session(browser: Browser, url: str) -> Iterator[BrowserSession]:
    context = browser.new_context(
        viewport={"width": WIDE, "height": HIGH},
        # Disable transitions, because contrast cannot be measured during a transition.
        reduced_motion="reduce",
        color_scheme="light",
        locale="en-GB",
    )
    context.set_default_timeout(WAIT_MS)
    try:
        yield BrowserSession(context, url)
    finally:
        context.close()
