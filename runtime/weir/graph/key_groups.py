"""Key groups: the units of keyed state, and the subtask that owns each unit.

The hash of a key selects one of ``max_parallelism`` groups. Subtask i of p owns a contiguous range of groups (Flink's
formula), so a change of the parallelism moves whole groups.
"""

from __future__ import annotations

from weir.protocol.ids import KeyGroup

MAX_PARALLELISM_MIN = 128
MAX_PARALLELISM_MAX = 32_768


def max_parallelism_for(parallelism: int) -> int:
    """Return the default number of key groups: 1.5 times ``parallelism``, rounded up to a power of two, within 128 to 32768."""
    assert parallelism >= 1
    minimum = parallelism + (parallelism + 1) // 2
    power = 1 << (minimum - 1).bit_length()
    return min(max(power, MAX_PARALLELISM_MIN), MAX_PARALLELISM_MAX)


def subtask_of(group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask (0 to parallelism - 1) that owns ``group`` (0 to max_parallelism - 1)."""
    assert 1 <= parallelism <= max_parallelism
    assert 0 <= group < max_parallelism
    return group * parallelism // max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> tuple[KeyGroup, KeyGroup]:
    """Return the first and last group of ``subtask``, both inclusive.

    The range is never empty, because parallelism <= max_parallelism.
    """
    assert 1 <= parallelism <= max_parallelism
    assert 0 <= subtask < parallelism
    first = (subtask * max_parallelism + parallelism - 1) // parallelism
    last = ((subtask + 1) * max_parallelism - 1) // parallelism
    return KeyGroup(first), KeyGroup(last)
