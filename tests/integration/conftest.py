"""How these tests share two cores: most of what they compute is Spark coming up, in each of them."""

from __future__ import annotations

import os

import pytest
from tests.integration.class_archive import jvm_options

APART = frozenset({"cli", "recovery"})
"""Folders whose tests share nothing that takes long to make, so that each may run anywhere. Of others a file stays together."""


def pytest_configure(config: pytest.Config) -> None:
    # Processes that run tests side by side inherit it.
    if not hasattr(config, "workerinput"):
        os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options(config.rootpath / "build" / "tests"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name not in APART:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
