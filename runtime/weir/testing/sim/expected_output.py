"""Computes the expected output and compares the actual output with it.

The expected output is the result of a failure-free execution on a prefix of every split.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weir.graph.logical import LogicalGraph, OperatorKind, Partitioning
from weir.protocol.ids import OperatorUid
from weir.testing.sim.graphs import SourceShape, transform
from weir.testing.sim.records import Identity, SimRow, base_key, chain_hash, key_of, through
from weir.testing.sim.simulation import Violation

Prefix = Mapping[tuple[OperatorUid, int], int]
"""Maps (source, number of the split) to the length of the split's prefix in records."""


@dataclass(frozen=True, slots=True)
class ExpectedRecords:
    """The records that each operator receives and sends."""

    received: dict[OperatorUid, set[Identity]]
    sent: dict[OperatorUid, set[Identity]]


def all_records(sources: Mapping[OperatorUid, SourceShape]) -> Prefix:
    return {(uid, number): length for uid, shape in sources.items() for number, length in enumerate(shape.lengths)}


def expected_records(logical: LogicalGraph, prefix: Prefix, held: Mapping[OperatorUid, set[Identity]]) -> ExpectedRecords:
    """``held``: records that delaying operators have not sent yet."""
    received: dict[OperatorUid, set[Identity]] = {}
    sent: dict[OperatorUid, set[Identity]] = {}
    for operator in logical.operators:
        uid, kind = operator.uid, operator.kind
        if kind is OperatorKind.SOURCE:
            sent[uid] = {
                Identity(source, number, position, ())
                for (source, number), count in prefix.items()
                if source == uid
                for position in range(count)
            }
            continue
        incoming = set().union(*(sent[source.operator] for source in operator.inputs))
        received[uid] = incoming
        if kind in (OperatorKind.AGGREGATE, OperatorKind.SINK):
            sent[uid] = {through(identity, uid) for identity in incoming}
        else:
            sent[uid] = {after for identity in incoming for after in transform(kind, uid, identity)} - held.get(uid, set())
    return ExpectedRecords(received, sent)


def check_equal(what: str, actual: Iterable[Identity], expected: set[Identity]) -> None:
    """Raises Violation naming lost, duplicate or unexpected records."""
    listed = list(actual)
    unique = set(listed)
    if len(listed) != len(unique):
        duplicate = next(identity for identity in listed if listed.count(identity) > 1)
        raise Violation(f"{what}: duplicate {duplicate}")
    if unique != expected:
        lost, extra = sorted(expected - unique), sorted(unique - expected)
        raise Violation(f"{what}: {len(lost)} lost, first {lost[:1]}; {len(extra)} unexpected, first {extra[:1]}")


class HashChainCheck:
    """Rebuilds the hash chain of each fold and key from the stamps of all committed records. Checks the records' order."""

    def __init__(self, logical: LogicalGraph, *, splits_may_move: bool) -> None:
        """``splits_may_move`` is True if splits were possibly reassigned to other subtasks."""
        self._logical = logical
        self._splits_may_move = splits_may_move
        self._links: dict[tuple[OperatorUid, int], dict[int, tuple[int, SimRow, int]]] = {}

    def add(self, row: SimRow) -> None:
        for depth, stamp in enumerate(row.stamps):
            chain = self._links.setdefault((stamp.fold, stamp.key), {})
            at_fold = row.identity.path.index(stamp.fold)
            arrived = row.identity._replace(path=row.identity.path[:at_fold])
            link = (stamp.hash, SimRow(arrived, row.stamps[:depth]), stamp.number)
            existing = chain.setdefault(stamp.number, link)
            if existing != link:
                raise Violation(f"{stamp.fold} key {stamp.key}: number {stamp.number} is both {existing} and {link}")

    def check(self) -> None:
        for (fold, key), chain in self._links.items():
            before, last_of = 0, dict[object, tuple[int, int]]()
            for number in range(1, len(chain) + 1):
                if number not in chain:
                    raise Violation(f"{fold} key {key}: number {number} of {len(chain)} is missing")
                found, row, _ = chain[number]
                before = chain_hash(before, row.identity)
                if found != before:
                    raise Violation(f"{fold} key {key}: the hash chain breaks at number {number}, {row.identity}")
                self._check_order(fold, row, last_of)

    def _check_order(self, fold: OperatorUid, row: SimRow, last_of: dict[object, tuple[int, int]]) -> None:
        """Check the order of the records on routes that preserve order (see ``_ordered``).

        If records of one split and key passed the same operators, they must arrive in the order of their positions in the split.
        The previous fold on the route numbers the records of each key. If two records of one key passed the same operators after
        that fold, these records must arrive in the order of their numbers.
        """
        identity = row.identity
        if self._ordered((identity.source, *identity.path, fold)):
            sequence = (identity.source, identity.split, identity.path, base_key(identity))
            self._advance(fold, sequence, (identity.position, 0), identity, last_of)
        if row.stamps:
            stamp = row.stamps[-1]
            after = identity.path[identity.path.index(stamp.fold) :]
            if self._ordered((*after, fold)):
                self._advance(fold, (stamp.fold, stamp.key, after), (stamp.number, 0), identity, last_of)

    @staticmethod
    def _advance(
        fold: OperatorUid, sequence: object, order: tuple[int, int], identity: Identity, last_of: dict[object, tuple[int, int]]
    ) -> None:
        if sequence in last_of and last_of[sequence] >= order:
            raise Violation(f"{fold}: {identity} arrived after a later record of {sequence}")
        last_of[sequence] = order

    def _ordered(self, route: tuple[str, ...]) -> bool:
        """Return whether records keep their order on ``route``.

        A REBALANCE edge changes the order of records. A FORWARD edge between different parallelisms also changes this order. If
        splits can be assigned to another subtask, an operator that delays records also changes the order.
        """
        uids = [OperatorUid(step.split("#")[0]) for step in route]
        for upstream, uid in zip(uids, uids[1:], strict=False):
            operator = self._logical.operator(uid)
            if operator.kind is OperatorKind.MAP_BATCHES and self._splits_may_move:
                return False
            edge = next(source for source in operator.inputs if source.operator == upstream)
            uneven = operator.parallelism != self._logical.operator(upstream).parallelism
            if edge.partitioning is Partitioning.REBALANCE or (edge.partitioning is Partitioning.FORWARD and uneven):
                return False
        return True


def check_keys(fold: OperatorUid, divisor: int, arrived: Iterable[tuple[int, Identity]]) -> None:
    for key, identity in arrived:
        if key_of(identity, divisor) != key:
            raise Violation(f"{fold}: {identity} is folded into key {key}")
