"""Computes the output of the generator source a second time, with numpy and without the code of the source.

splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014): number i of a stream is ``mix(seed +
(i + 1) * GOLDEN)``. The seed of a column's stream is the first 8 bytes of blake2b of ``<seed>:<column>``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from bench.checkpoint_reader import SplitRead

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
CHUNK_ROWS = 1 << 20
VALUES = 100
"""Values are 0 to 99."""
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """The number of records and the sum of their values for every possible key."""

    keys: Numbers
    rows: Numbers
    values: Numbers


def key_counts(splits: Sequence[SplitRead], *, seed: int, distinct: int) -> KeyCounts:
    """Compute the counts for columns ``key`` (uniform over ``distinct`` sparse integers) and ``value`` (0 to 99)."""
    rows, values = np.zeros(distinct, np.int64), np.zeros(distinct, np.int64)
    for split in splits:
        payload = split.split.payload
        assert isinstance(payload, dict), "the split is not a split of the generator"
        first, of = payload["first"], payload["of"]
        assert isinstance(first, int) and isinstance(of, int)
        assert isinstance(split.position, int), "the position of an unbounded generator is a number of rows"
        stride = _stride(first, of, seed, distinct)
        stride.move_to(split.position)
        rows += stride.rows
        values += stride.values
    return KeyCounts(_sparse_keys(distinct), rows, values)


@dataclass(slots=True)
class _Stride:
    """For each key, the number of rows and the sum of their values in the first ``position`` rows of a split. Consecutive runs end
    at nearly the same position, so ``move_to`` computes only the rows between the old and the new position."""

    first: int
    of: int
    key_stream: int
    value_stream: int
    rows: Numbers
    values: Numbers
    position: int = 0

    def move_to(self, position: int) -> None:
        sign = 1 if position >= self.position else -1
        begin, end = sorted((self.position, position))
        for chunk in range(begin, end, CHUNK_ROWS):
            numbers = np.arange(chunk, min(chunk + CHUNK_ROWS, end), dtype=np.uint64) * np.uint64(self.of) + np.uint64(self.first)
            which = _uniform(self.key_stream, numbers, len(self.rows))
            drawn = _uniform(self.value_stream, numbers, VALUES)
            self.rows += sign * np.bincount(which, minlength=len(self.rows))
            # Sums of doubles are exact here, because the sums are far below 2 ** 53.
            self.values += sign * np.bincount(which, weights=drawn, minlength=len(self.rows)).astype(np.int64)
        self.position = position


@lru_cache(maxsize=16)
def _stride(first: int, of: int, seed: int, distinct: int) -> _Stride:
    nothing = np.zeros(distinct, np.int64)
    return _Stride(first, of, _stream(seed, "key"), _stream(seed, "value"), nothing, nothing.copy())


def _stream(seed: int, column: str) -> int:
    return int.from_bytes(blake2b(f"{seed}:{column}".encode(), digest_size=8).digest(), "little")


def _mix(z: Words) -> Words:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = z ^ (z >> np.uint64(31))
    return mixed


def _uniform(stream: int, numbers: Words, below: int) -> Numbers:
    mixed = _mix(numbers * np.uint64(_GOLDEN) + np.uint64((stream + _GOLDEN) & _MASK))
    return (((mixed >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32)).astype(np.int64)


@lru_cache(maxsize=4)
def _sparse_keys(distinct: int) -> Numbers:
    keys: Numbers = _mix((np.arange(distinct, dtype=np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)).view(np.int64)
    if len(np.unique(keys // 10 // 10)) != distinct:
        raise SystemExit(
            f"two of the {distinct:,} keys are equal after division by 100, so running results depend on the order of records "
            "and cannot be checked. Choose another number of keys."
        )
    return keys
