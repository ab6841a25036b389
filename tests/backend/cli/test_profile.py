"""``weir profile`` takes a profile of a slot."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.backend.cli.conftest import Weir
from tests.backend.cli.fake_worker import Worker

pytestmark = pytest.mark.timeout(300)
STACKS = "weir-loop;run (weir/subtask/process.py:217);parse (flights.py:12) 240\nweir-loop;run (weir/subtask/process.py:217) 60\n"


def test_the_stacks_of_a_slot_are_printed_in_the_format_of_flamegraph_pl(flights: Worker, weir: Weir) -> None:
    result = weir("profile", "flights", "--slot", "1", "--seconds", "3")
    assert (result.code, result.out) == (0, STACKS), result.err
    assert result.err.endswith("300 samples of slot 1 of job 'flights'.\n")
    result = weir("profile", "flights", "--slot", "1", "--output", "json")
    assert (result.json["samples"], result.json["threads"][0]["name"]) == (1_000, "weir-loop")


def test_the_stacks_are_written_to_a_file(flights: Worker, weir: Weir, tmp_path: Path) -> None:
    result = weir("profile", "flights", "--slot", "0", "--seconds", "3", "--file", str(tmp_path / "stacks.txt"))
    assert (result.code, result.out) == (0, "")
    assert (tmp_path / "stacks.txt").read_text() == STACKS
    result = weir("profile", "flights", "--slot", "0", "--file", str(tmp_path))
    assert result.code == 2 and f"Cannot write {tmp_path}: Is a directory." in result.err


def test_the_reason_why_there_is_no_profile_is_the_error_of_the_command(flights: Worker, weir: Weir) -> None:
    result = weir("profile", "flights", "--slot", "7")
    assert result.code == 1 and "The job has no slot 7: its slots are 0 to 1." in result.err
    assert weir("profile", "flights", "--slot", "0", "--seconds", "31").code == 2
