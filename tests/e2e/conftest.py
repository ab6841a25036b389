"""One platform, one job and one browser for all stories; each has people of its own, and pictures and a trace of what failed are kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.e2e.person import PICTURES, WAIT_MS, Person, person
from tests.e2e.shop import Account, Shop
from tests.integration.platform.test_embedded import somewhere

from browser import arguments, chromium
from class_archive import jvm_options

FIRST, LAST = "test_deploying", "test_pages"
"""The job that is deployed by hand is used by the others; what they have made of it is looked at in the end."""
TIMEOUT_S = 900
BROKEN = PICTURES / "failed"
_failed = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options(config.rootpath / "build" / "java"))
    # Beside a platform of one's own at the usual port.
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
def shop() -> Iterator[Shop]:
    with somewhere() as platform, tempfile.TemporaryDirectory(prefix="weir-orders-") as root:
        said = platform.weir("up")
        assert said.code == 0, said.err
        found = Shop(platform, Path(root))
        found.furnish()
        yield found
        # Drivers outlive a platform.
        found.forget_orders()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    # What failed another time is not to be looked at as if it had failed now.
    shutil.rmtree(BROKEN, ignore_errors=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driven:
        launched = driven.chromium.launch(executable_path=chromium(), args=arguments())
        yield launched
        launched.close()


Someone = Callable[[Account | None], Person]


@pytest.fixture
def someone(browser: Browser, shop: Shop, request: pytest.FixtureRequest) -> Iterator[Someone]:
    """Makes people, each with a browser of his own. With an account: logged in already."""
    with ExitStack() as opened:
        people: list[Person] = []

        def come(account: Account | None) -> Person:
            one = opened.enter_context(person(browser, shop.url))
            people.append(one)
            one.begin_trace()
            if account is not None:
                one.is_logged_in(account)
            return one

        yield come
        for number, one in enumerate(people):
            broken = request.node.stash.get(_failed, False) or bool(one.complaints.found or one.faults)
            one.end_trace(BROKEN / f"{request.node.name}-{number}" if broken else None)
        wrong = [one for somebody in people for one in (*somebody.complaints.found, *somebody.faults)]
        assert not wrong, "\n".join(wrong)
