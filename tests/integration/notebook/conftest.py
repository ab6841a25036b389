from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from small_job import numbers

from weir.spark import jvm
from weir.spark.java_home import find_java


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """A session of a user, with Spark's default settings."""
    find_java()
    session = SparkSession.builder.master("local[4]").appName("of the user").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()
    jvm.end()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with the input of the small job."""
    numbers(tmp_path / "input")
    return tmp_path
