"""Kernels that generate random numbers from counters. Value i of a random stream depends only on the seed and i, so a reader can
resume at any position.

The hash is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, figure 15), whose
i-th output is ``mix(seed + (i + 1) * GOLDEN)``. ``mix`` is a bijection of 64-bit words, so distinct inputs have distinct outputs.
All arithmetic is modulo 2**64. When a process imports this module, numba compiles the kernels and caches them on disk.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _32, _11 = (np.uint64(bits) for bits in (27, 30, 31, 32, 11))
_ONE = np.uint64(1)
_TO_UNIT = 1.0 / (1 << 53)


@nb.njit(inline="always")
def mix(z: Any) -> Any:
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@nb.njit("void(uint64[::1], uint64, uint64, uint64, uint64)", cache=True, nogil=True)
def sparse_ints(out: Any, seed: Any, first: Any, stride: Any, distinct: Any) -> None:
    """Fill ``out`` with random choices from ``distinct`` (< 2**32) values, each with the same probability. The possible values are
    scattered over all 64-bit integers, and are the same for every seed.

    Row j of ``out`` is value ``first + stride * j`` of the random stream."""
    x = seed + (first + _ONE) * GOLDEN
    step = stride * GOLDEN
    for j in range(out.shape[0]):
        which = ((mix(x + np.uint64(j) * step) >> _32) * distinct) >> _32
        out[j] = mix((which + _ONE) * GOLDEN)


@nb.njit("void(int64[::1], uint64, uint64, uint64, uint64, int64)", cache=True, nogil=True)
def dense_ints(out: Any, seed: Any, first: Any, stride: Any, distinct: Any, low: Any) -> None:
    """Fill ``out`` with uniformly distributed integers from ``[low, low + distinct)``, where ``distinct`` < 2**32."""
    x = seed + (first + _ONE) * GOLDEN
    step = stride * GOLDEN
    for j in range(out.shape[0]):
        out[j] = np.int64(((mix(x + np.uint64(j) * step) >> _32) * distinct) >> _32) + low


@nb.njit("void(float64[::1], uint64, uint64, uint64, float64, float64)", cache=True, nogil=True)
def floats(out: Any, seed: Any, first: Any, stride: Any, low: Any, high: Any) -> None:
    """Fill ``out`` with uniformly distributed floats from ``[low, high)``, each computed from 53 random bits."""
    x = seed + (first + _ONE) * GOLDEN
    step = stride * GOLDEN
    for j in range(out.shape[0]):
        out[j] = low + (high - low) * (np.float64(mix(x + np.uint64(j) * step) >> _11) * _TO_UNIT)


@nb.njit("void(int32[::1], uint64, uint64, uint64, uint64, uint32[::1], int32[::1])", cache=True, nogil=True)
def alias_choice(out: Any, seed: Any, first: Any, stride: Any, per_row: Any, threshold: Any, alias: Any) -> None:
    """Fill ``out`` with indices drawn by Walker's alias method. Each row has ``per_row`` adjacent elements of ``out``."""
    count = np.uint64(threshold.shape[0])
    for j in range(out.shape[0]):
        row = first + stride * (np.uint64(j) // per_row)
        number = row * per_row + np.uint64(j) % per_row
        h = mix(seed + (number + _ONE) * GOLDEN)
        slot = np.int64(((h >> _32) * count) >> _32)
        out[j] = slot if np.uint32(h & np.uint64(0xFFFFFFFF)) < threshold[slot] else alias[slot]
