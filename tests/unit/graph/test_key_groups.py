"""Assigning key groups to subtasks."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weir.graph.key_groups import key_group_range, max_parallelism_for, subtask_of

no_deadline = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@no_deadline
@given(st.data())
def test_every_key_group_belongs_to_the_subtask_whose_range_contains_it(data: st.DataObject) -> None:
    max_parallelism = data.draw(st.integers(1, 2048))
    parallelism = data.draw(st.integers(1, max_parallelism))
    covered: list[int] = []
    for subtask in range(parallelism):
        first, last = key_group_range(subtask, parallelism, max_parallelism)
        assert first <= last
        assert all(subtask_of(group, parallelism, max_parallelism) == subtask for group in (first, last))
        covered.extend(range(first, last + 1))
    assert covered == list(range(max_parallelism))


@pytest.mark.parametrize(
    ("parallelism", "groups"),
    [(1, 128), (2, 128), (85, 128), (86, 256), (128, 256), (170, 256), (171, 512), (20_000, 32_768), (32_768, 32_768)],
)
def test_the_default_number_of_key_groups_is_a_power_of_two_above_one_and_a_half_times_the_parallelism(
    parallelism: int, groups: int
) -> None:
    assert max_parallelism_for(parallelism) == groups


@no_deadline
@given(st.integers(1, 32_768))
def test_the_default_number_of_key_groups_is_never_below_the_parallelism(parallelism: int) -> None:
    assert parallelism <= max_parallelism_for(parallelism) <= 32_768


def test_the_formula_of_key_group_ranges_does_not_change_between_versions() -> None:
    assert [key_group_range(i, 3, 128) for i in range(3)] == [(0, 42), (43, 85), (86, 127)]
    assert [key_group_range(i, 2, 128) for i in range(2)] == [(0, 63), (64, 127)]
