"""Records with an identity, batches with the interface of Arrow batches, and stable hashes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import NamedTuple

from weir.protocol.ids import OperatorUid


class Stamp(NamedTuple):
    """The stamp that a keyed fold adds to a record.

    ``number`` is the record's number within its key, from 1. ``hash`` is the value of the key's hash chain up to and including
    this record.
    """

    fold: OperatorUid
    key: int
    number: int
    hash: int


class Identity(NamedTuple):
    """Identifies a record in the output of any operator by its position in the source and the operators that it has passed."""

    source: OperatorUid
    split: int
    position: int
    path: tuple[str, ...]


class SimRow(NamedTuple):
    identity: Identity
    stamps: tuple[Stamp, ...]


class SimBatch:
    """A batch whose row size is set by the scenario, so that a few rows can use up the credit of a channel."""

    __slots__ = ("nbytes", "num_rows", "rows")

    def __init__(self, rows: Iterable[SimRow], row_bytes: int) -> None:
        self.rows = tuple(rows)
        self.num_rows = len(self.rows)
        self.nbytes = self.num_rows * row_bytes


KEYS = 12


def base_key(identity: Identity) -> int:
    """The key of a record, which no operator changes."""
    return (identity.position * 7 + identity.split * 13 + len(identity.source) + ord(identity.source[-1])) % KEYS


def key_of(identity: Identity, divisor: int) -> int:
    return base_key(identity) // divisor


def key_group(key: int, max_parallelism: int) -> int:
    return (key * 2_654_435_761 >> 7) % max_parallelism


def chain_hash(previous: int, identity: Identity) -> int:
    """One link of an order-sensitive hash chain."""
    return zlib.crc32(repr((previous, identity)).encode())


def through(identity: Identity, uid: str) -> Identity:
    """Return the identity of the record after it has passed operator ``uid``."""
    return identity._replace(path=(*identity.path, uid))
