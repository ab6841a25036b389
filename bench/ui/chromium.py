"""The browser that is measured: Chromium or Chrome as it is installed, without a window, and without what it does on its own account."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTH, HEIGHT = 1440, 900


def chromium() -> str:
    """Its path."""
    wanted = os.environ.get("WEIR_CHROMIUM")
    found = wanted or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise SystemExit(
            "there is no Chromium: install one (Debian: apt-get install chromium), or say where it is by WEIR_CHROMIUM"
        )
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    # Chromium's sandbox does not work for root.
    sandboxed = os.geteuid() != 0
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS), chromium_sandbox=sandboxed)
        try:
            yield started
        finally:
            started.close()
