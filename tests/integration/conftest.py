"""Settings that make integration tests faster on a machine with few cores."""

from __future__ import annotations

import os

import pytest

from class_archive import jvm_options


def pytest_configure(config: pytest.Config) -> None:
    # Only the parent of the parallel test processes sets the environment variables. The test processes inherit the variables.
    if not hasattr(config, "workerinput"):
        os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options(config.rootpath / "build" / "java"))
        # With port 0, platforms of parallel tests choose different free ports.
        os.environ.setdefault("WEIR_API_PORT", "0")


LONGEST_FIRST = ("demo", "platform", "oldest", "submit", "recovery", "notebook", "cli", "endtoend")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the directories with the slowest tests first, because a slow file that starts last delays the end of the test run."""

    def rank(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=rank)
