"""A bounded Spark DataFrame or SQL query as a source: Spark plans, scans and transforms it, its rows are staged as splits.

Spark is two layers up, so it comes in as a port: whoever builds or launches jobs with such sources sets
``planner`` for that time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, Protocol, TypeAlias

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.staged_dataframe import StagedDataFrame
from weir.errors import ConfigError
from weir.operators.base import SourceOperator
from weir.protocol.snapshots import JsonValue, Split

Query: TypeAlias = str | Callable[[Any], Any]
"""SQL, or a function from the SparkSession to a DataFrame."""


class SparkPlanner(Protocol):
    def schema(self, query: Query) -> pa.Schema:
        """Without running it. Raises GraphError, SchemaError."""
        ...

    def stage(self, query: Query, directory: str) -> StagedDataFrame:
        """Run it, unless ``directory`` holds all of it already. Raises InputError."""
        ...


planner: ContextVar[SparkPlanner | None] = ContextVar("planner", default=None)


@contextmanager
def planned_by(one: SparkPlanner) -> Iterator[None]:
    token = planner.set(one)
    try:
        yield
    finally:
        planner.reset(token)


class SparkQuerySource(Source):
    """``stage`` has to be called before the graph is compiled for a run: until then there is nothing to read."""

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
        self._refuse()

    def reader(self) -> SourceOperator:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise AssertionError("what is read is the staged query, which takes this one's place in the graph")

    @staticmethod
    def _planner() -> SparkPlanner:
        found = planner.get()
        if found is None:
            raise ConfigError(
                "a source that is a Spark query needs a Spark session while the job is built: run the job by `weir run`, "
                "or build it inside `with weir.spark.launch.session_for(options, name).planning():`"
            )
        return found
