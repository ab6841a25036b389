"""The checkpoint history keeps one checkpoint per step, and every protected checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from weir_backend.housekeeping.history_rules import HistoryLevel, HistoryReferences, HistoryRow, Thinning, is_protected, thin
from weir_backend.models import CheckpointState

NOW = datetime(2026, 11, 28, 12, 0, 30, tzinfo=UTC)
DAY, WEEK = timedelta(days=1), timedelta(days=7)
MINUTE, HOUR = HistoryLevel(1, DAY, timedelta(minutes=1)), HistoryLevel(2, DAY + WEEK, timedelta(hours=1))
NO_REFERENCES = HistoryReferences(frozenset(), newest=1_000_000)


def row(number: int, age: timedelta, *, level: int = 0) -> HistoryRow:
    return HistoryRow(number, 1, number, NOW - age, level)


def in_minute(*seconds: int, level: int = 0) -> list[HistoryRow]:
    """Return checkpoints of one minute that is two days old, with the numbers 1, 2, ..."""
    begin = NOW.replace(second=0) - 2 * DAY
    return [HistoryRow(number, 1, number, begin + timedelta(seconds=one), level) for number, one in enumerate(seconds, 1)]


def apply(rows: Iterable[HistoryRow], found: Thinning, level: HistoryLevel) -> list[HistoryRow]:
    return [replace(one, level=level.number) if one.id in found.kept else one for one in rows if one.id not in found.deleted]


def test_the_newest_checkpoint_of_each_minute_is_kept() -> None:
    rows = in_minute(0, 10, 59, 60, 119, 120)
    assert thin(rows, NO_REFERENCES, MINUTE, NOW) == Thinning(deleted=(1, 2, 4), kept=(3, 5, 6))


def test_a_minute_is_judged_only_when_all_its_checkpoints_are_old_enough() -> None:
    rows = [row(1, DAY + timedelta(seconds=31)), row(2, DAY + timedelta(seconds=29)), row(3, DAY)]
    assert thin(rows, NO_REFERENCES, MINUTE, NOW) == Thinning(deleted=(), kept=(1,))


def test_a_checkpoint_that_is_judged_later_replaces_an_older_checkpoint_of_the_same_minute() -> None:
    kept, late = in_minute(10, level=1)[0], in_minute(0, 20)[1]
    assert thin([kept, late], NO_REFERENCES, MINUTE, NOW) == Thinning(deleted=(1,), kept=(2,))
    earlier = replace(late, completed_at=kept.completed_at - timedelta(seconds=1))
    assert thin([kept, earlier], NO_REFERENCES, MINUTE, NOW) == Thinning(deleted=(2,), kept=())


def test_each_protected_checkpoint_is_kept() -> None:
    plain = in_minute(0)[0]
    newest = replace(in_minute(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)[-1], number=99)
    protected = {
        "a failed checkpoint": replace(plain, state=CheckpointState.FAILED),
        "a checkpoint in progress": replace(plain, state=CheckpointState.IN_PROGRESS),
        "a checkpoint whose files exist": replace(plain, discarded=False),
        "a savepoint": replace(plain, is_savepoint=True),
        "a pinned checkpoint": replace(plain, pinned=True),
        "a damaged checkpoint": replace(plain, damaged=True),
        "the last checkpoint of a generation": replace(plain, ends_generation=True),
    }
    assert thin([plain, newest], NO_REFERENCES, MINUTE, NOW) == Thinning(deleted=(1,), kept=(10,))
    for name, one in protected.items():
        assert thin([one, newest], NO_REFERENCES, MINUTE, NOW) == Thinning(deleted=(), kept=(1, 10)), name
    for references in (HistoryReferences(frozenset({1}), newest=100), HistoryReferences(frozenset(), newest=1)):
        assert thin([plain, newest], references, MINUTE, NOW) == Thinning(deleted=(), kept=(1, 10))


def history() -> st.SearchStrategy[list[HistoryRow]]:
    """Checkpoints of the last eleven days. Many of them complete in the same minute."""
    one = st.tuples(
        st.integers(0, 11 * 24), st.integers(0, 300), st.sampled_from(["", "", "", "pinned", "damaged", "ends_generation", "is_savepoint"])
    )  # fmt: skip

    def made(drawn: list[tuple[int, int, str]]) -> list[HistoryRow]:
        rows = [
            replace(row(number, timedelta(hours=hours, seconds=seconds)), **({flag: True} if flag else {}))
            for number, (hours, seconds, flag) in enumerate(drawn, 1)
        ]
        return sorted(rows, key=lambda one: one.completed_at)

    return st.lists(one, max_size=60).map(made)


REFERENCES = st.builds(HistoryReferences, st.frozensets(st.integers(1, 60), max_size=5), newest=st.integers(1, 200))


def density(rows: Iterable[HistoryRow], references: HistoryReferences, level: HistoryLevel, moment: datetime) -> int:
    """Return the largest number of unprotected checkpoints in one step that the level has judged."""
    steps = [
        level.begin_of_step(one.completed_at)
        for one in rows
        if one.completed_at < level.end(moment) and not is_protected(one, references)
    ]
    return max((steps.count(one) for one in steps), default=0)


def judge(rows: list[HistoryRow], references: HistoryReferences, moment: datetime, size: int) -> list[HistoryRow]:
    """Thin the rows until nothing is left to judge, ``size`` rows at a time, as the cleanup does."""
    for level in (MINUTE, HOUR):
        while batch := [one for one in rows if one.level == level.number - 1 and one.completed_at < level.end(moment)][:size]:
            steps = {level.begin_of_step(one.completed_at) for one in batch}
            judged = [one for one in rows if one.level == level.number and level.begin_of_step(one.completed_at) in steps]
            rows = apply(rows, thin([*batch, *judged], references, level, moment), level)
    return rows


@given(history(), REFERENCES, st.integers(1, 20), st.lists(st.integers(0, 200), max_size=4))
def test_thinning_keeps_protected_checkpoints_and_bounds_the_others(
    rows: list[HistoryRow], references: HistoryReferences, size: int, hours: list[int]
) -> None:
    remaining = rows
    moment = NOW - timedelta(days=5)
    for step in (*hours, 24 * 5):
        moment = min(NOW, moment + timedelta(hours=step))
        completed = [one for one in remaining if one.completed_at <= moment]
        future = [one for one in remaining if one.completed_at > moment]
        once = judge(completed, references, moment, size)
        assert judge(once, references, moment, size) == once, "thinning twice deletes nothing more"
        for level in (MINUTE, HOUR):
            assert density(once, references, level, moment) <= 1
        remaining = once + future
    kept = {one.id for one in remaining}
    assert kept >= {one.id for one in rows if is_protected(one, references)}
    assert kept >= {one.id for one in rows if one.completed_at >= MINUTE.end(NOW)}, "all checkpoints of the last day are kept"
    for level in (MINUTE, HOUR):
        steps = {level.begin_of_step(one.completed_at) for one in rows}
        assert steps >= {level.begin_of_step(one.completed_at) for one in remaining}
    hours_before = {HOUR.begin_of_step(one.completed_at) for one in rows}
    assert {HOUR.begin_of_step(one.completed_at) for one in remaining} == hours_before, "each hour keeps a checkpoint"


@given(history(), REFERENCES, st.integers(1, 20))
def test_the_size_of_a_batch_does_not_change_which_plain_checkpoints_are_kept(
    rows: list[HistoryRow], references: HistoryReferences, size: int
) -> None:
    assert judge(rows, references, NOW, size) == judge(rows, references, NOW, 1_000)
