from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from tests.integration.spark import fake_coordinator
from tests.integration.spark.fake_coordinator import SPARK_SECRET, FakeCoordinator

from weir.spark.session import close_session, open_session
from weir.spark.settings import AUTH_SECRET


@pytest.fixture(autouse=True, scope="session")
def _pickle_test_slots_by_value() -> None:
    cloudpickle.register_pickle_by_value(fake_coordinator)


@pytest.fixture(scope="module")
def local_spark() -> Iterator[SparkSession]:
    """A session with enough cores for two slots and a spare."""
    spark = open_session("local", 3, app_name="weir-tests", extra_conf={AUTH_SECRET: SPARK_SECRET})
    yield spark
    close_session(spark)


@pytest.fixture
def coordinator() -> Iterator[FakeCoordinator]:
    with FakeCoordinator() as coordinator:
        yield coordinator
