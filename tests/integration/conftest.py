"""Settings for integration tests on few cores. Starting Spark takes most of their time."""

from __future__ import annotations

import os

import pytest

from class_archive import jvm_options


def pytest_configure(config: pytest.Config) -> None:
    # Parallel test processes inherit the environment.
    if not hasattr(config, "workerinput"):
        os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_options(config.rootpath / "build" / "java"))
        # Platforms start in parallel and need different ports.
        os.environ.setdefault("WEIR_API_PORT", "0")


LONGEST_FIRST = ("demo", "platform", "recovery", "cli", "endtoend")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order files by directory, long ones first: a long file that starts last delays the end of the run."""

    def rank(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=rank)
