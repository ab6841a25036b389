"""The Spark session of a job, opened when it is first needed: by a source that is a query, or by the slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from weir.connectors.descriptions import encode_schema
from weir.connectors.spark_query import Query, planned_by
from weir.connectors.staged_dataframe import StagedDataFrame
from weir.errors import GraphError
from weir.spark import staging
from weir.spark.session import close_session, open_session


class LazySession:
    """SparkPlanner too. ``slots``: cores to ask for where Weir decides that, spares included."""

    def __init__(self, master: str, slots: int, *, app_name: str, conf: Mapping[str, str]) -> None:
        self._master = master
        self._slots = slots
        self._app_name = app_name
        self._conf = dict(conf)
        self._session: SparkSession | None = None

    def get(self) -> SparkSession:
        if self._session is None:
            self._session = open_session(self._master, self._slots, app_name=self._app_name, extra_conf=self._conf)
        return self._session

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            close_session(session)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Jobs built inside may have sources that are Spark queries."""
        with planned_by(self):
            yield

    def schema(self, query: Query) -> pa.Schema:
        return staging.frame_schema(self._frame(query))

    def stage(self, query: Query, directory: str) -> StagedDataFrame:
        where, schema = staging.stage_dataframe(self._frame(query), directory)
        return StagedDataFrame(where, encode_schema(schema))

    def _frame(self, query: Query) -> DataFrame:
        if isinstance(query, str):
            return staging.query(self.get(), query)
        frame = query(self.get())
        if not isinstance(frame, DataFrame):
            raise GraphError(f"the function of a DataFrame source returned {type(frame).__name__}, not a Spark DataFrame")
        return frame
