"""The output check of the chaos runs, with correct and with damaged output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.chaos.chaos_job import CODE_OF_KEY
from tests.chaos.dataset import ROW_BITS
from tests.chaos.output_check import check_output, parts_of
from tests.chaos.plan import FaultKind, make_plan

Row = dict[str, int]
GROUPS = 2
RECORDS = [{"id": file << ROW_BITS | row, "key": (row * 5 + file) % 3} for row in range(40) for file in range(2)]


def running(records: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return the rows that the two aggregates emit, in order."""
    n, totals, group_n, group_totals = [0] * 3, [0] * 3, [0] * GROUPS, [0] * GROUPS
    keys, groups = [], []
    for record in records:
        key, group = record["key"], record["key"] % GROUPS
        n[key] += 1
        totals[key] += record["id"]
        keys.append({"key": key, "n": n[key], "total": totals[key]})
        group_n[group] += 1
        group_totals[group] += key * CODE_OF_KEY + n[key]
        groups.append({"group": group, "n": group_n[group], "total": group_totals[group]})
    return keys, groups


def publish(directory: Path, keys: list[Row], groups: list[Row]) -> None:
    """Write the rows to files of ten rows each. Each file belongs to a different checkpoint."""
    for checkpoint in range(1, -(-max(len(keys), len(groups)) // 10) + 1):
        part = slice(10 * checkpoint - 10, 10 * checkpoint)
        name = f"part-c{checkpoint:08d}-g1-w0000"
        for of in ("keys", "groups"):
            (directory / of).mkdir(exist_ok=True)
        if keys[part]:
            pl.DataFrame(keys[part]).write_parquet(directory / "keys" / f"{name}.parquet")
        if groups[part]:
            (directory / "groups" / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in groups[part]))


def problems(directory: Path) -> str:
    return "; ".join(check_output(pl.DataFrame(RECORDS), keys=directory / "keys", groups=directory / "groups"))


def test_correct_output_has_no_problems(tmp_path: Path) -> None:
    publish(tmp_path, *running(RECORDS))
    assert problems(tmp_path) == ""


def lose_a_record(records: list[Row]) -> list[Row]:
    return records[:17] + records[18:]


def duplicate_a_record(records: list[Row]) -> list[Row]:
    return [*records[:17], records[16], *records[17:]]


def swap_two_records_of_a_split(records: list[Row]) -> list[Row]:
    first, second = 20, 26
    assert records[first]["key"] == records[second]["key"]
    swapped = list(records)
    swapped[first], swapped[second] = records[second], records[first]
    return swapped


@pytest.mark.parametrize(
    ("damage", "expected_problem"),
    [(lose_a_record, "lost: 1 rows"), (duplicate_a_record, "duplicated: 2 rows"), (swap_two_records_of_a_split, "out of order")],
)
def test_wrong_input_of_the_aggregates_is_detected(
    tmp_path: Path, damage: Callable[[list[Row]], list[Row]], expected_problem: str
) -> None:
    publish(tmp_path, *running(damage(RECORDS)))
    assert expected_problem in problems(tmp_path)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("damage", [lose_a_record, duplicate_a_record, lambda rows: [*rows[:30], rows[31], rows[30], *rows[32:]]])
def test_wrong_input_of_a_sink_is_detected(tmp_path: Path, damage: Callable[[list[Row]], list[Row]], level: int) -> None:
    emitted = list(running(RECORDS))
    emitted[level] = damage(sorted(emitted[level], key=lambda row: list(row.values())))
    publish(tmp_path, *emitted)
    assert "are not 1, 2, 3" in problems(tmp_path)


def test_a_file_that_was_published_twice_or_never_is_detected(tmp_path: Path) -> None:
    publish(tmp_path, *running(RECORDS))
    (_, name), *_ = parts_of(tmp_path / "keys")
    duplicate = tmp_path / "keys" / name.replace("c00000001", "c00000099")
    duplicate.write_bytes((tmp_path / "keys" / name).read_bytes())
    assert "duplicated" in problems(tmp_path)
    duplicate.unlink()
    (tmp_path / "keys" / name).unlink()
    assert "lost" in problems(tmp_path)


@pytest.mark.parametrize("of", ["keys", "groups"])
def test_a_truncated_file_is_reported(tmp_path: Path, of: str) -> None:
    publish(tmp_path, *running(RECORDS))
    _, path = parts_of(tmp_path / of)[2]
    Path(path).write_bytes(Path(path).read_bytes()[:-3])
    assert f"torn: {path}" in problems(tmp_path)


def test_300_seeds_give_repeatable_plans_that_cover_every_kind_of_fault() -> None:
    plans = [make_plan(seed, standalone_share=0.2) for seed in range(300)]
    assert plans == [make_plan(seed, standalone_share=0.2) for seed in range(300)]
    assert {fault.kind for plan in plans for fault in plan.faults} == set(FaultKind)
    assert {plan.standalone for plan in plans} == {True, False}
