from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from tests.integration.spark import switchboard
from tests.integration.spark.switchboard import SPARK_SECRET, Switchboard

from weir.spark.session import close_session, open_session
from weir.spark.settings import AUTH_SECRET


@pytest.fixture(autouse=True, scope="session")
def _slots_of_tests_travel_by_value() -> None:
    cloudpickle.register_pickle_by_value(switchboard)


@pytest.fixture(scope="module")
def local_spark() -> Iterator[SparkSession]:
    """With room for two slots and a spare."""
    spark = open_session("local", 3, app_name="weir-tests", extra_conf={AUTH_SECRET: SPARK_SECRET})
    yield spark
    close_session(spark)


@pytest.fixture
def board() -> Iterator[Switchboard]:
    with Switchboard() as board:
        yield board
