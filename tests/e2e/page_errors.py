"""Collects errors of pages: console errors, exceptions, and requests that fail or are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response, WebError

ABORTED = "net::ERR_ABORTED"
"""The error of a request that the page itself aborted."""
UNREACHABLE = re.compile(
    r"net::ERR_(CONNECTION_\w+|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|NETWORK_IO_SUSPENDED)|status of 503"
)


class PageErrors:
    """The errors of all pages of a browser context."""

    def __init__(self, context: BrowserContext) -> None:
        self.messages: list[str] = []
        self._unreachable = False
        context.on("console", self._on_console)
        context.on("weberror", self._on_exception)
        context.on("requestfailed", self._on_failed_request)
        context.on("response", self._on_response)

    @contextmanager
    def allow_unreachable(self, page: Page) -> Iterator[None]:
        """Ignore failed connections and responses with status 503 until the ``with`` block ends."""
        self._unreachable = True
        yield
        page.evaluate("1")  # the browser reports earlier errors before it returns the result of this call
        self._unreachable = False

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not (self._unreachable and UNREACHABLE.search(message.text)):
            self.messages.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _on_exception(self, error: WebError) -> None:
        self.messages.append(f"exception: {error.error}")

    def _on_failed_request(self, request: Request) -> None:
        reason = request.failure or ""
        if reason != ABORTED and not (self._unreachable and UNREACHABLE.search(reason)):
            self.messages.append(f"failed: {request.method} {request.url}: {reason}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and not (self._unreachable and response.status == 503):
            self.messages.append(f"{response.status}: {response.request.method} {response.url}")
