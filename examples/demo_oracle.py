"""Compare the demo's committed output with a batch computation of Spark SQL over the same input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

SHOWN_ROWS = 5

CARRIERS = """
    select carrier, count(*) as flights, avg(dep_delay) as delay, max(dep_delay) as worst from flights group by carrier
"""
# The output contains updates. The last update of a carrier counts all flights of this carrier.
LAST_CARRIERS = """
    select carrier, max(flights) as flights, max_by(delay, flights) as delay, max_by(worst, flights) as worst
    from committed group by carrier
"""
ROUTES = """
    select origin, dest, count(*) over so_far as flights, sum(dep_delay) over so_far as minutes from flights
    window so_far as (partition by origin, dest order by sequence rows unbounded preceding)
"""
EVERY_ROUTE = "select origin, dest, flights, minutes from committed"
WORDS = """
    select lower(run) as word, count(*) as occurrences
    from (select explode(regexp_extract_all(value, '[A-Za-z]+', 0)) as run from lines) group by lower(run)
"""
LAST_WORDS = "select word, max(occurrences) as occurrences from committed group by word"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison of expected rows with committed rows.

    ``differing`` contains descriptions of some differences, and is empty if the rows are equal.
    """

    what: str
    rows: int
    differing: tuple[str, ...]

    @property
    def equal(self) -> bool:
        return not self.differing


def compare_flights(spark: SparkSession, flights: Path, output: Path) -> list[Comparison]:
    spark.read.parquet(str(flights)).createOrReplaceTempView("flights")
    return [
        _compare(spark, "delays per carrier", CARRIERS, output / "carriers", LAST_CARRIERS),
        _compare(spark, "running counts per route", ROUTES, output / "routes", EVERY_ROUTE),
    ]


def compare_words(spark: SparkSession, texts: Path, output: Path) -> list[Comparison]:
    spark.read.text(str(texts)).createOrReplaceTempView("lines")
    return [_compare(spark, "occurrences per word", WORDS, output, LAST_WORDS)]


def _compare(spark: SparkSession, what: str, expected: str, output: Path, committed: str) -> Comparison:
    expected_rows = spark.sql(expected)
    spark.read.parquet(str(output)).createOrReplaceTempView("committed")
    return compare(what, expected_rows, spark.sql(committed))


def compare(what: str, expected: DataFrame, committed: DataFrame) -> Comparison:
    """Compare two multisets of rows. Numbers must be exactly equal. The order of the rows does not matter."""
    if expected.dtypes != committed.dtypes:
        return Comparison(what, 0, (f"columns {_columns(committed.dtypes)}, expected {_columns(expected.dtypes)}",))
    names = ", ".join(f"`{name}`" for name, _ in expected.dtypes)
    expected.createOrReplaceTempView("expected_side")
    committed.createOrReplaceTempView("committed_side")
    spark = expected.sparkSession
    sides = spark.sql(
        f"""select {names}, sum(wanted) as wanted, sum(found) as found from (
              select *, 1 as wanted, 0 as found from expected_side union all
              select *, 0 as wanted, 1 as found from committed_side) group by {names}"""  # safe: the demo defines these names
    )
    sides.createOrReplaceTempView("sides")
    rows, differing = spark.sql("select sum(wanted), count_if(wanted <> found) from sides").collect()[0]
    if not differing:
        return Comparison(what, rows or 0, ())
    odd = spark.sql(f"select * from sides where wanted <> found order by {names} limit {SHOWN_ROWS}").collect()
    shown = [f"{', '.join(str(value) for value in row[:-2])}: {row['found']} x, expected {row['wanted']} x" for row in odd]
    return Comparison(what, rows or 0, tuple(shown))


def _columns(types: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types)
