"""How a slot that cannot start says why."""

from __future__ import annotations

from typing import Any

import pytest

from weir.errors import ConfigError
from weir.protocol.bootstrap import SlotBootstrap, SparkPlace
from weir.spark import task
from weir.spark.task import SlotEnd, run_slot_task

PLACE = SparkPlace(spark_task=0, attempt=0, executor="host/1", host="host")
BOOTSTRAP = SlotBootstrap(job="job", host="host", port=1, secret=b"")


def end_of(main: Any, monkeypatch: pytest.MonkeyPatch) -> SlotEnd:
    monkeypatch.setattr(task, "place", lambda: PLACE)  # There is no Spark task here.
    (end,) = run_slot_task(main, BOOTSTRAP, 0, [0])
    return end


def test_what_is_raised_on_purpose_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(bootstrap: SlotBootstrap, index: int, place: SparkPlace) -> None:
        raise ConfigError("no free port in 7000-7001; widen --data-ports")

    end = end_of(main, monkeypatch)
    assert end.error == "no free port in 7000-7001; widen --data-ports"
    assert "Traceback" in end.trace


def test_of_anything_else_one_line_says_what_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(bootstrap: SlotBootstrap, index: int, place: SparkPlace) -> None:
        raise ValueError("not a number")

    end = end_of(main, monkeypatch)
    assert end.error is not None
    assert end.error.startswith("ValueError: not a number (test_task.py:") and end.error.endswith(" main)")


def test_a_slot_that_returns_has_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert end_of(lambda bootstrap, index, place: None, monkeypatch) == SlotEnd(error=None)
