"""What a browser complains of while pages are used: errors in its console, exceptions, requests that fail or are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response, WebError

GIVEN_UP = "net::ERR_ABORTED"
"""By the page itself: it was left, or something newer is asked for."""
NOBODY_THERE = re.compile(r"net::ERR_(CONNECTION_\w+|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|NETWORK_IO_SUSPENDED)")


class Complaints:
    """Of all pages of a context, from now on."""

    def __init__(self, context: BrowserContext) -> None:
        self.found: list[str] = []
        self._alone = False
        context.on("console", self._said)
        context.on("weberror", self._thrown)
        context.on("requestfailed", self._failed)
        context.on("response", self._answered)

    @contextmanager
    def nobody_there(self, page: Page) -> Iterator[None]:
        """Meanwhile it is no complaint that nobody answers. Everything else still is one."""
        self._alone = True
        yield
        page.evaluate("1")  # what has happened until now is told before that is answered
        self._alone = False

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not (self._alone and NOBODY_THERE.search(message.text)):
            self.found.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _thrown(self, error: WebError) -> None:
        self.found.append(f"exception: {error.error}")

    def _failed(self, request: Request) -> None:
        why = request.failure or ""
        if why != GIVEN_UP and not (self._alone and NOBODY_THERE.search(why)):
            self.found.append(f"failed: {request.method} {request.url}: {why}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.found.append(f"{response.status}: {response.request.method} {response.url}")
