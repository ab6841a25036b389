from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from demo_oracle import compare
from weir.spark.session import close_session, open_session

pytestmark = pytest.mark.spark
ROWS = "('a', 1, 0.1D), ('b', 2, cast(null as double)), ('b', 2, cast(null as double))"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("local", 1, app_name="weir-tests", extra_conf={"spark.sql.shuffle.partitions": "1"})
    yield session
    close_session(session)


def rows(spark: SparkSession, values: str) -> DataFrame:
    return spark.sql(f"select * from values {values} as rows(name, number, share)")


def test_the_same_rows_in_another_order_are_equal(spark: SparkSession) -> None:
    reordered = "('b', 2, cast(null as double)), ('a', 1, 0.1D), ('b', 2, cast(null as double))"
    comparison = compare("rows", rows(spark, ROWS), rows(spark, reordered))
    assert comparison.equal and comparison.rows == 3


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ("('a', 1, 0.1D), ('b', 2, cast(null as double))", ("b, 2, None: 1 x, expected 2 x",)),
        (f"{ROWS}, ('a', 1, 0.1D)", ("a, 1, 0.1: 2 x, expected 1 x",)),
        (
            ROWS.replace("0.1D", "0.10000000000000002D"),
            ("a, 1, 0.1: 0 x, expected 1 x", "a, 1, 0.10000000000000002: 1 x, expected 0 x"),
        ),
        (ROWS.replace("'a'", "'A'"), ("A, 1, 0.1: 1 x, expected 0 x", "a, 1, 0.1: 0 x, expected 1 x")),
    ],
)
def test_lost_or_duplicated_or_changed_rows_are_listed(spark: SparkSession, other: str, shown: tuple[str, ...]) -> None:
    comparison = compare("rows", rows(spark, ROWS), rows(spark, other))
    assert not comparison.equal
    assert comparison.differing == shown


def test_rows_that_are_missing_or_have_a_different_type_are_unequal(spark: SparkSession) -> None:
    assert not compare("rows", rows(spark, ROWS), rows(spark, ROWS).where("false")).equal
    cast = rows(spark, ROWS).selectExpr("name", "cast(number as bigint) as number", "share")
    assert compare("rows", rows(spark, ROWS), cast).differing == (
        "columns name string, number bigint, share double, expected name string, number int, share double",
    )
