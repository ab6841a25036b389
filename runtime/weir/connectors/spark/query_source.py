"""The source that reads a bounded Spark DataFrame or the result of a bounded Spark SQL query. Spark runs the query once and
stages the rows. The source subtasks then read the staged rows as splits.

This package does not import pyspark. Code that builds or launches a job with a Spark query first passes a ``SparkPlanner`` to
``use_planner``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, Protocol, TypeAlias

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.spark.staged_dataframe import StagedDataFrame
from weir.errors import ConfigError
from weir.operators.base import SourceOperator
from weir.protocol.snapshots import JsonValue, Split

Query: TypeAlias = str | Callable[[Any], Any]
"""The text of a SQL query, or a function that takes the SparkSession and returns a DataFrame."""


class SparkPlanner(Protocol):
    def schema(self, query: Query) -> pa.Schema:
        """Return the schema of the query's result without running the query. Raises GraphError, SchemaError."""
        ...

    def stage(self, query: Query, directory: str) -> StagedDataFrame:
        """Run the query, unless ``directory`` already contains the complete result. Raises InputError."""
        ...


planner: ContextVar[SparkPlanner | None] = ContextVar("planner", default=None)


@contextmanager
def use_planner(spark_planner: SparkPlanner) -> Iterator[None]:
    token = planner.set(spark_planner)
    try:
        yield
    finally:
        planner.reset(token)


class SparkQuerySource(Source):
    """Reads the result of a Spark query. Call ``stage`` before the graph is compiled for a run. The staged DataFrame then
    replaces the query source in the graph."""

    kind = "spark_query"

    def __init__(self, query: Query, *, rate: float | None = None) -> None:
        self._query = query
        self._rate = rate
        self._schema: pa.Schema | None = None
        self._staged: StagedDataFrame | None = None

    def schema(self) -> pa.Schema:
        if self._schema is None:
            self._schema = self._planner().schema(self._query)
        return self._schema

    def stage(self, directory: str) -> None:
        if self._staged is None or self._staged.directory != directory:
            self._staged = dataclasses.replace(self._planner().stage(self._query, directory), rate=self._rate)

    def describe(self) -> JsonValue:
        return {"kind": self.kind} if self._staged is None else self._staged.describe()

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        self._check_not_superseded()

    def reader(self) -> SourceOperator:
        self._check_not_superseded()

    def _check_not_superseded(self) -> NoReturn:
        raise AssertionError("a Spark query cannot be read directly. Stage the query, and read the staged DataFrame.")

    @staticmethod
    def _planner() -> SparkPlanner:
        current = planner.get()
        if current is None:
            raise ConfigError(
                "A Spark query source needs a Spark session while the job is built. Run the job with `weir run`, "
                "or build it inside `with weir.spark.launch.session_for(options, name).planning():`."
            )
        return current
