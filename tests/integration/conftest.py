"""How these tests share two cores: most of what they compute is Spark coming up, in each of them."""

from __future__ import annotations

import os

import pytest

from class_archive import jvm_options


def pytest_configure(config: pytest.Config) -> None:
    # Processes that run tests side by side inherit it.
    if not hasattr(config, "workerinput"):
        os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options(config.rootpath / "build" / "java"))
        # Platforms come up side by side, and would want the same port at the same time.
        os.environ.setdefault("WEIR_API_PORT", "0")


LONGEST_FIRST = ("demo", "platform", "recovery", "cli", "endtoend")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files are dealt out in this order: a long one that begins last is waited for by all."""

    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=place)
