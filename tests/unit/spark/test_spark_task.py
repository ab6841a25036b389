"""Reporting the error of a slot that cannot start."""

from __future__ import annotations

from typing import Any

import pytest

from weir.errors import ConfigError
from weir.protocol.bootstrap import SlotBootstrap, SparkTaskInfo
from weir.spark import spark_task
from weir.spark.spark_task import SlotEnd, run_slot_task

TASK_INFO = SparkTaskInfo(spark_task=0, attempt=0, executor="host/1", host="host")
BOOTSTRAP = SlotBootstrap(job="job", host="host", port=1, secret=b"")


def end_of(main: Any, monkeypatch: pytest.MonkeyPatch) -> SlotEnd:
    monkeypatch.setattr(spark_task, "current_spark_task", lambda: TASK_INFO)  # outside a Spark task
    (end,) = run_slot_task(main, BOOTSTRAP, 0, [0])
    return end


def test_the_message_of_an_error_class_of_weir_is_reported_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(bootstrap: SlotBootstrap, index: int, task_info: SparkTaskInfo) -> None:
        raise ConfigError("no free port in 7000-7001; widen --data-ports")

    end = end_of(main, monkeypatch)
    assert end.error == "no free port in 7000-7001; widen --data-ports"
    assert "Traceback" in end.trace


def test_the_report_of_an_unexpected_error_contains_its_type_and_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(bootstrap: SlotBootstrap, index: int, task_info: SparkTaskInfo) -> None:
        raise ValueError("not a number")

    end = end_of(main, monkeypatch)
    assert end.error is not None
    assert end.error.startswith("ValueError: not a number (test_spark_task.py:") and end.error.endswith(" main)")


def test_a_slot_that_returns_normally_reports_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert end_of(lambda bootstrap, index, task_info: None, monkeypatch) == SlotEnd(error=None)
