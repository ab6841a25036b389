from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.abs6 import Abs6
from bench.load import Load, parse
from bench.load_run import PACED_MS, latency, source_interval_ms
from weir.connectors.stats_sink import Totals


def test_rates_are_numbers_or_shares_of_the_maximum() -> None:
    options = parse(["--slots", "2,16", "--rates", "0,30000,half,tenth,max", "--seconds", "5"])
    assert options.slots == [2, 16] and options.rates == ["0", "30000", "half", "tenth", "max"]


@pytest.mark.parametrize("arguments", [["--rates", "fast"], ["--rates", "-1"], ["--slots", "0"], ["--seconds", "1"]])
def test_invalid_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parse(arguments)
    assert refused.value.code == 2 and arguments[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("slots", "timeout_ms", "interval_ms"), [(2, None, 23), (16, None, 80), (2, 0, PACED_MS), (16, 7.5, 7.5)]
)
def test_a_source_with_a_rate_emits_once_per_buffer_timeout(slots: int, timeout_ms: float | None, interval_ms: float) -> None:
    assert source_interval_ms(Abs6(7, rate=1_000, timed=True), slots, timeout_ms) == interval_ms


def test_a_source_with_a_high_rate_emits_twice_per_buffer_timeout() -> None:
    assert source_interval_ms(Abs6(7, rate=1_000_000, timed=True), 2, 20.0) == 10


def test_the_latency_since_the_creation_includes_the_wait_in_the_source() -> None:
    measured = latency(Totals(rows=100, latency={"160": 100}), 20.0)  # 16 buckets per octave of microseconds
    assert measured["emission_p50_ms"] == measured["emission_p99_ms"] == 1.024
    assert measured["p50_ms"] == pytest.approx(1.024 + 10, abs=0.02)
    assert measured["p99_ms"] == pytest.approx(1.024 + 19.8, abs=0.02)
    assert latency(Totals(), 20.0)["p50_ms"] is None


def test_a_slow_tenth_of_the_records_determines_the_highest_latencies() -> None:
    measured = latency(Totals(rows=100, latency={"160": 90, "272": 10}), 20.0)
    slow_ms = measured["emission_p99_ms"]
    assert slow_ms is not None and slow_ms == pytest.approx(131.072)
    # The slowest 1 % of all records are the slowest tenth of the slow records.
    assert measured["p99_ms"] == pytest.approx(slow_ms + 18, abs=0.02)


class IdleProcess:
    """Replaces LoadProcess. The job reads no records."""

    def __init__(self, tree: Path, slots: int, directory: Path) -> None: ...
    def measure(self, request: dict[str, Any]) -> dict[str, Any]:
        latencies = dict.fromkeys(("p50_ms", "p99_ms", "emission_p50_ms", "emission_p99_ms"))
        return {"records_per_s": 0, "cores": 0.1, "slot_cores": 0.08, "checkpoint_ms_avg": 50.0, "wrong": None, **latencies}

    def close(self) -> None: ...


def test_two_commits_can_be_compared_without_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.load.LoadProcess", IdleProcess)
    Load(parse(["--rates", "0", "--against", "old", "--pairs", "1"]), 16, tmp_path / "load.jsonl").compare(tmp_path)
    compared = capsys.readouterr().out
    assert "cores       0.10, old     0.10: 100%" in compared and "records_per_s     0.00, old     0.00: -" in compared
