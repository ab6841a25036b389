"""Functions that build small logical graphs."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from weir.graph.logical import Input, LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.graph.schema import columns_of, encode_schema
from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import JsonValue

SCHEMA = pa.schema([("word", pa.string()), ("length", pa.int64())])


def operator(
    uid: str,
    kind: OperatorKind,
    *inputs: str | Input,
    parallelism: int | None = None,
    max_parallelism: int | None = None,
    config: JsonValue = None,
    schema: pa.Schema = SCHEMA,
    derived: bool = False,
) -> LogicalOperator:
    return LogicalOperator(
        uid=OperatorUid(uid),
        name=uid,
        kind=kind,
        inputs=tuple(one if isinstance(one, Input) else Input(OperatorUid(one)) for one in inputs),
        columns=columns_of(schema),
        schema=encode_schema(schema),
        uid_derived=derived,
        parallelism=parallelism,
        max_parallelism=max_parallelism,
        stateful=kind in (OperatorKind.SOURCE, OperatorKind.AGGREGATE, OperatorKind.SINK),
        config=config,
        site="job.py:1",
    )


def source(uid: str, **options: object) -> LogicalOperator:
    return operator(uid, OperatorKind.SOURCE, config={"kind": "text"}, **options)  # type: ignore[arg-type]  # operator() has these options


def sink(uid: str, *inputs: str | Input, **options: object) -> LogicalOperator:
    return operator(uid, OperatorKind.SINK, *inputs, config={"kind": "parquet"}, **options)  # type: ignore[arg-type]  # operator() has these options


def row_map(uid: str, *inputs: str | Input, **options: object) -> LogicalOperator:
    return operator(uid, OperatorKind.MAP, *inputs, **options)  # type: ignore[arg-type]  # operator() has these options


def counts(
    uid: str, upstream: str, *key: str, accumulator: str = "count", column: str | None = None, **options: object
) -> LogicalOperator:
    config: JsonValue = {
        "key": list(key),
        "aggregates": [{"output": "n", "accumulator": accumulator, "column": column}],
        "emit": "batch",
    }
    return operator(uid, OperatorKind.AGGREGATE, hashed(upstream, *key), config=config, **options)  # type: ignore[arg-type]  # operator() has these options


def hashed(upstream: str, *key: str) -> Input:
    return Input(OperatorUid(upstream), Partitioning.HASH, key)


def dealt(upstream: str, partitioning: Partitioning) -> Input:
    return Input(OperatorUid(upstream), partitioning)


def graph(*operators: LogicalOperator) -> LogicalGraph:
    return LogicalGraph("words", operators)


def without(logical: LogicalGraph, uid: str) -> LogicalGraph:
    return replace(logical, operators=tuple(one for one in logical.operators if one.uid != uid))


def word_count() -> LogicalGraph:
    return graph(source("lines"), row_map("split", "lines"), counts("count", "split", "word"), sink("out", "count"))
