"""What a failure-free execution makes of a prefix of every split, and whether given records can have come from one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weir.graph.logical import LogicalGraph, OperatorKind, Partitioning
from weir.protocol.ids import OperatorUid
from weir.testing.sim.graphs import SourceShape, becomes
from weir.testing.sim.records import Identity, Row, base_key, chain_hash, key_of, through
from weir.testing.sim.world import Violation

Prefix = Mapping[tuple[OperatorUid, int], int]
"""(source, number of the split) -> how many of its records, counted from the first."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Records at every operator: what arrived (not kept for stateless ones) and what left."""

    arrived: dict[OperatorUid, set[Identity]]
    left: dict[OperatorUid, set[Identity]]


def whole(sources: Mapping[OperatorUid, SourceShape]) -> Prefix:
    return {(uid, number): length for uid, shape in sources.items() for number, length in enumerate(shape.lengths)}


def flow(logical: LogicalGraph, prefix: Prefix, held: Mapping[OperatorUid, set[Identity]]) -> Flow:
    """``held``: what operators that hold records back have not sent yet."""
    arrived: dict[OperatorUid, set[Identity]] = {}
    left: dict[OperatorUid, set[Identity]] = {}
    for operator in logical.operators:
        uid, kind = operator.uid, operator.kind
        if kind is OperatorKind.SOURCE:
            left[uid] = {
                Identity(source, number, position, ())
                for (source, number), count in prefix.items()
                if source == uid
                for position in range(count)
            }
            continue
        coming = set().union(*(left[source.operator] for source in operator.inputs))
        arrived[uid] = coming
        if kind in (OperatorKind.AGGREGATE, OperatorKind.SINK):
            left[uid] = {through(identity, uid) for identity in coming}
        else:
            left[uid] = {after for identity in coming for after in becomes(kind, uid, identity)} - held.get(uid, set())
    return Flow(arrived, left)


def differ(what: str, found: Iterable[Identity], wanted: set[Identity]) -> None:
    """Raises Violation naming what is lost, doubled or should not be there."""
    listed = list(found)
    unique = set(listed)
    if len(listed) != len(unique):
        doubled = next(identity for identity in listed if listed.count(identity) > 1)
        raise Violation(f"{what}: doubled {doubled}")
    if unique != wanted:
        lost, extra = sorted(wanted - unique), sorted(unique - wanted)
        raise Violation(f"{what}: {len(lost)} lost, first {lost[:1]}; {len(extra)} too many, first {extra[:1]}")


class ChainCheck:
    """The stamps of all committed records, put together again: one chain per fold and key, in an order that can have been."""

    def __init__(self, logical: LogicalGraph, *, moves: bool) -> None:
        """``moves``: splits may have gone from one subtask to another."""
        self._logical = logical
        self._moves = moves
        self._links: dict[tuple[OperatorUid, int], dict[int, tuple[int, Row, int]]] = {}

    def add(self, row: Row) -> None:
        for depth, stamp in enumerate(row.stamps):
            chain = self._links.setdefault((stamp.fold, stamp.key), {})
            at_fold = row.identity.path.index(stamp.fold)
            arrived = row.identity._replace(path=row.identity.path[:at_fold])
            link = (stamp.hash, Row(arrived, row.stamps[:depth]), stamp.number)
            known = chain.setdefault(stamp.number, link)
            if known != link:
                raise Violation(f"{stamp.fold} key {stamp.key}: number {stamp.number} is both {known} and {link}")

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

    def _check_order(self, fold: OperatorUid, row: Row, last_of: dict[object, tuple[int, int]]) -> None:
        """Records of one split and one key that took the same channels arrive in the order of the split, and of every fold before."""
        identity = row.identity
        if self._ordered((identity.source, *identity.path, fold)):
            lane = (identity.source, identity.split, identity.path, base_key(identity))
            self._advance(fold, lane, (identity.position, 0), identity, last_of)
        if row.stamps:
            stamp = row.stamps[-1]
            after = identity.path[identity.path.index(stamp.fold) :]
            if self._ordered((*after, fold)):
                self._advance(fold, (stamp.fold, stamp.key, after), (stamp.number, 0), identity, last_of)

    @staticmethod
    def _advance(
        fold: OperatorUid, lane: object, place: tuple[int, int], identity: Identity, last_of: dict[object, tuple[int, int]]
    ) -> None:
        if lane in last_of and last_of[lane] >= place:
            raise Violation(f"{fold}: {identity} arrived after a later record of {lane}")
        last_of[lane] = place

    def _ordered(self, route: tuple[str, ...]) -> bool:
        """Nothing on ``route`` deals records out by turns; nothing holds them back where they might change subtasks."""
        uids = [OperatorUid(step.split("#")[0]) for step in route]
        for upstream, uid in zip(uids, uids[1:], strict=False):
            operator = self._logical.operator(uid)
            if operator.kind is OperatorKind.MAP_BATCHES and self._moves:
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
