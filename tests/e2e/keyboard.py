"""Keyboard navigation that checks that the focus is visible."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

PRESSES_MAX = 120

# The focus is visible if the element, its parent or its grandparent has an outline, or if a text field has a thicker border.
_RING = """async () => {
  // Wait for the frames and transitions that follow the key press.
  for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame);
  const one = document.activeElement;
  await Promise.allSettled(one.getAnimations().map(({ finished }) => finished));
  if (one === document.body) return null;
  const outlined = (at) => getComputedStyle(at).outlineStyle !== 'none' && parseFloat(getComputedStyle(at).outlineWidth) >= 2;
  const close = [one, one.parentElement, one.parentElement?.parentElement].filter(Boolean);
  const border = one.closest('.MuiOutlinedInput-root')?.querySelector('fieldset');
  const shown = close.some(outlined) || (border && parseFloat(getComputedStyle(border).borderTopWidth) >= 2);
  const { width, height, top, bottom } = one.getBoundingClientRect();
  const inView = width > 0 && height > 0 && bottom > 0 && top < window.innerHeight;
  if (shown && inView) return null;
  const why = shown ? 'it is out of view' : `the focus is not visible, the outline is ${getComputedStyle(one).outline}`;
  return `${one.outerHTML.slice(0, 200)}: ${why}`;
}"""


class Keyboard:
    def __init__(self, page: Page) -> None:
        self._page = page
        self.hidden_focus: list[str] = []
        """Descriptions of elements whose focus was not visible."""

    def focus(self, target: Locator, *, by: str = "Tab") -> None:
        """Press ``by`` until ``target`` has the focus."""
        target.first.wait_for(state="visible")
        for _ in range(PRESSES_MAX):
            self.press(by)
            if self._is_at(target):
                return
        raise AssertionError(f"pressing {by} {PRESSES_MAX} times did not move the focus to {target}")

    def press(self, key: str) -> None:
        self._page.keyboard.press(key)
        hidden = self._page.evaluate(_RING)
        if hidden is not None:
            self.hidden_focus.append(hidden)

    def type(self, text: str) -> None:
        self._page.keyboard.type(text)

    def _is_at(self, target: Locator) -> bool:
        found: bool = target.evaluate_all("all => all.includes(document.activeElement)")
        return found
