"""All end-to-end tests share a platform, a job and a browser. Each test opens its own browser sessions. If a test fails,
its screenshots and traces are saved."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.e2e.browser_session import SCREENSHOTS, WAIT_MS, BrowserSession, browser_session
from tests.e2e.rig import Account, Rig
from tests.integration.platform.test_embedded import temporary_platform

from browser import arguments, chromium
from class_archive import jvm_options

FIRST, LAST = "test_deploy", "test_pages"
"""``FIRST`` names the test file that runs first and deploys the job for all other tests. ``LAST`` names the test file that runs
last and checks the pages with the data of the other tests."""
TIMEOUT_S = 900
FAILED_TESTS = SCREENSHOTS / "failed"
_failed = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options(config.rootpath / "build" / "java"))
    # Choose a free port, because a platform of the developer may use the default port.
    os.environ.setdefault("WEIR_API_PORT", "0")
    expect.set_options(timeout=WAIT_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (item.path.stem != FIRST) + (item.path.stem == LAST))
    for item in items:
        for mark in (pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(TIMEOUT_S)):
            item.add_marker(mark)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_failed] = item.stash.get(_failed, False) or report.failed
    return report


@pytest.fixture(scope="session")
def rig() -> Iterator[Rig]:
    with temporary_platform() as platform, tempfile.TemporaryDirectory(prefix="weir-orders-") as root:
        result = platform.weir("up")
        assert result.code == 0, result.err
        found = Rig(platform, Path(root))
        found.create_resources()
        yield found
        # Delete the job, because its driver would continue after the end of the platform.
        found.delete_job()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    # Remove the results of earlier runs.
    shutil.rmtree(FAILED_TESTS, ignore_errors=True)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driven:
        launched = driven.chromium.launch(executable_path=chromium(), args=arguments())
        yield launched
        launched.close()


OpenSession = Callable[[Account | None], BrowserSession]


@pytest.fixture
def open_session(browser: Browser, rig: Rig, request: pytest.FixtureRequest) -> Iterator[OpenSession]:
    """A function that opens a browser session. If an account is passed, the function logs the session in."""
    with ExitStack() as opened:
        sessions: list[BrowserSession] = []

        def come(account: Account | None) -> BrowserSession:
            one = opened.enter_context(browser_session(browser, rig.url))
            sessions.append(one)
            one.begin_trace()
            if account is not None:
                one.log_in_by_api(account)
            return one

        yield come
        for number, one in enumerate(sessions):
            failed = request.node.stash.get(_failed, False) or bool(one.errors.messages or one.problems)
            one.end_trace(FAILED_TESTS / f"{request.node.name}-{number}" if failed else None)
        wrong = [one for session in sessions for one in (*session.errors.messages, *session.problems)]
        assert not wrong, "\n".join(wrong)
