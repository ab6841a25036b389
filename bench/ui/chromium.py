"""The browser that is measured: Chromium or Chrome as it is installed, without a window, and without what it does on its own account."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from browser import NoBrowser, arguments, chromium

WIDTH, HEIGHT = 1440, 900


@contextmanager
def browser() -> Iterator[Browser]:
    """Raises SystemExit where there is none."""
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
