"""How these tests share two cores: what makes them wait is Spark coming up, in each of them."""

from __future__ import annotations

import os

import pytest

# A JVM that lives for seconds is not worth the optimising compiler, which takes a third to a half of what its start computes.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")

APART = frozenset({"cli", "recovery"})
"""Folders whose tests share nothing that takes long to make, so that each may run anywhere. Of others a file stays together."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name not in APART:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
