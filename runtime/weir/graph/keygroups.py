"""Key groups: how keyed state is cut into units, and which subtask owns which unit.

A key's hash falls into one of ``max_parallelism`` groups; subtask i of p owns a contiguous range of
them (Flink's formula), so that state moves between parallelisms by whole groups.
"""

from __future__ import annotations

from weir.protocol.ids import KeyGroup

MAX_PARALLELISM_MIN = 128
MAX_PARALLELISM_MAX = 32_768


def max_parallelism_for(parallelism: int) -> int:
    """Number of key groups for an operator that was given none: 1.5 times p, up to a power of two, within 128 to 32768."""
    assert parallelism >= 1
    wanted = parallelism + (parallelism + 1) // 2
    power = 1 << (wanted - 1).bit_length()
    return min(max(power, MAX_PARALLELISM_MIN), MAX_PARALLELISM_MAX)


def subtask_of(group: int, parallelism: int, max_parallelism: int) -> int:
    """The subtask (0 to parallelism - 1) that owns ``group`` (0 to max_parallelism - 1)."""
    assert 1 <= parallelism <= max_parallelism
    assert 0 <= group < max_parallelism
    return group * parallelism // max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> tuple[KeyGroup, KeyGroup]:
    """First and last group, both included, that ``subtask_of`` gives to ``subtask``. Never empty, as p <= max_parallelism."""
    assert 1 <= parallelism <= max_parallelism
    assert 0 <= subtask < parallelism
    first = (subtask * max_parallelism + parallelism - 1) // parallelism
    last = ((subtask + 1) * max_parallelism - 1) // parallelism
    return KeyGroup(first), KeyGroup(last)
