"""Random jobs: one to three sources, stateless operators, folds by successively coarser keys, unions, and one or two sinks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.protocol.ids import OperatorUid
from weir.testing.sim.records import Identity, through

DIVISORS = (1, 2, 4)
COLUMNS = tuple(Column(f"k{divisor}", "int64") for divisor in DIVISORS)
JOB = "sim"
SINKS_MAX = 2


@dataclass(frozen=True, slots=True)
class SourceShape:
    """``lengths``: the number of records in each split. ``appears_ns``: the time at which each split appears, in ascending order.
    Empty if all splits exist from the start, and the source is bounded."""

    lengths: tuple[int, ...]
    appears_ns: tuple[int, ...] = ()
    discover_every_ms: int | None = None


class GraphBuilder:
    """Makes a random graph. ``parallelism_max``: the number of slots."""

    def __init__(self, rng: random.Random, parallelism_max: int) -> None:
        self._rng = rng
        self._parallelism_max = parallelism_max
        self._operators: list[LogicalOperator] = []
        self.sources: dict[OperatorUid, SourceShape] = {}

    def make(self) -> LogicalGraph:
        rng = self._rng
        streams = [self._stateless(self._source(number)) for number in range(rng.choice((1, 1, 1, 2, 2, 3)))]
        while len(streams) > 1:
            merged = rng.sample(streams, 2)
            streams = [stream for stream in streams if stream not in merged] + [self._union(merged)]
        stream = streams[0]
        if rng.random() < 0.2:
            stream = self._union([self._add("map", OperatorKind.MAP, [self._input(stream)]) for _ in range(2)])
        folds = rng.choice((0, 1, 1, 2, 3))
        for divisor in sorted(rng.sample(DIVISORS, folds)):
            key = Input(stream, Partitioning.HASH, (f"k{divisor}",))
            stream = self._add("fold", OperatorKind.AGGREGATE, [key], {"divisor": divisor}, stateful=True)
            if rng.random() < 0.25:
                stream = self._add("map", OperatorKind.MAP, [self._input(stream)])
        for _ in range(rng.choice((1, 1, SINKS_MAX))):
            self._add("sink", OperatorKind.SINK, [self._input(stream)], stateful=True)
        return LogicalGraph(JOB, tuple(self._operators))

    def _source(self, number: int) -> OperatorUid:
        uid = self._add("source", OperatorKind.SOURCE, [])
        splits = self._rng.choice((1, 2, 2, 3)) * max(1, self._parallelism_max // 8)
        lengths = [self._rng.choice((0, 1, 4, 8, 14)) for _ in range(splits)]
        self.sources[uid] = SourceShape(tuple(lengths))
        return uid

    def _stateless(self, stream: OperatorUid) -> OperatorUid:
        for _ in range(self._rng.choice((0, 1, 1, 2))):
            name, kind = self._rng.choice(
                (
                    ("map", OperatorKind.MAP),
                    ("filter", OperatorKind.FILTER_ROWS),
                    ("flat", OperatorKind.FLAT_MAP),
                    ("hold", OperatorKind.MAP_BATCHES),
                )
            )
            stream = self._add(name, kind, [self._input(stream)], stateful=name == "hold")
        return stream

    def _union(self, streams: Sequence[OperatorUid]) -> OperatorUid:
        return self._add("union", OperatorKind.UNION, [self._input(stream) for stream in streams])

    def _input(self, stream: OperatorUid) -> Input:
        roll = self._rng.random()
        partitioning = Partitioning.REBALANCE if roll < 0.25 else Partitioning.GLOBAL if roll < 0.28 else Partitioning.FORWARD
        return Input(stream, partitioning)

    def _add(
        self, name: str, kind: OperatorKind, inputs: list[Input], config: dict[str, int] | None = None, *, stateful: bool = False
    ) -> OperatorUid:
        uid = OperatorUid(f"{name}{len(self._operators)}")
        parallelism = self._rng.randint(1, self._parallelism_max) if self._rng.random() < 0.3 else None
        self._operators.append(
            LogicalOperator(
                uid=uid,
                name=uid,
                kind=kind,
                inputs=tuple(inputs),
                columns=COLUMNS,
                schema="",
                parallelism=parallelism,
                max_parallelism=self._rng.choice((None, 8, 16)) if self._parallelism_max <= 8 else None,
                stateful=stateful,
                config=dict(config) if config else None,
            )
        )
        return uid


def without_shuffles(graph: LogicalGraph) -> LogicalGraph:
    """Return the graph with FORWARD edges only, so that no slot exchanges records with another slot. Folds become maps."""

    def changed(operator: LogicalOperator) -> LogicalOperator:
        inputs = tuple(Input(one.operator) for one in operator.inputs)
        is_fold = operator.kind is OperatorKind.AGGREGATE
        return replace(
            operator,
            inputs=inputs,
            parallelism=None,
            kind=OperatorKind.MAP if is_fold else operator.kind,
            stateful=operator.stateful and not is_fold,
            config=None if is_fold else operator.config,
        )

    return replace(graph, operators=tuple(map(changed, graph.operators)))


def transform(kind: OperatorKind, uid: str, identity: Identity) -> tuple[Identity, ...]:
    """Return the output of a stateless operator for one record."""
    match kind:
        case OperatorKind.FILTER_ROWS:
            return (through(identity, uid),) if (identity.position + identity.split) % 3 else ()
        case OperatorKind.FLAT_MAP:
            return tuple(through(identity, f"{uid}#{copy}") for copy in range(1 + identity.position % 2))
        case _:
            return (through(identity, uid),)
