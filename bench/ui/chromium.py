"""The browser of the benchmark: an installed Chromium or Chrome, headless and without its background services."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from browser import NoBrowser, arguments, chromium

WIDTH, HEIGHT = 1440, 900


@contextmanager
def browser() -> Iterator[Browser]:
    """Yield the browser. Raises SystemExit if no browser is installed."""
    try:
        program = chromium()
    except NoBrowser as problem:
        raise SystemExit(str(problem)) from None
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=arguments(), chromium_sandbox=os.geteuid() != 0)
        try:
            yield started
        finally:
            started.close()
