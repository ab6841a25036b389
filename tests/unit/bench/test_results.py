"""The values that ``make bench`` prints in a table and writes to the file results.jsonl."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench.ceiling_run import CeilingRun
from bench.measured_run import RunMeasurement
from bench.options import parse
from bench.process_control import CpuSeconds, cpu_seconds
from bench.results import EVERY_SECOND, NONE, BenchResult, append, measurement, percentile, show, spread
from weir.connectors.stats_sink import Totals
from weir.coordinator.progress import CheckpointSummary
from weir.protocol.ids import CheckpointId

DOCUMENTED_FIELDS = {
    *("workload", "setting", "parallelism", "slots", "records", "seconds", "records_per_s", "baseline_records_per_s"),
    *("ceiling_records_per_s", "checkpoints", "checkpoint_ms_avg", "checkpoint_ms_max", "alignment_ms_max", "sync_ms_max"),
    *("checkpointed_bytes", "peak_rss_mb", "result_ok"),
}


def checkpoint(number: int) -> CheckpointSummary:
    return CheckpointSummary(
        CheckpointId(number),
        "periodic",
        end_to_end_ms=10 * number,
        state_bytes=9_000 * number,
        checkpointed_bytes=1_000 * number,
        alignment_ms_max=0.5 * number,
        sync_us=(10, 100 * number),
        sync_cpu_us=(5, 7 * number),
        sync_core_wait_us=(0, 60 * number),
        async_ms_max=1.0,
        longest_batch_ms_max=2.0 * number,
        longest_batch_core_wait_ms=0.25 * number,
    )


def run(records: int, *, checkpoints: int = 0, wrong: str | None = None) -> RunMeasurement:
    return RunMeasurement(
        records=records,
        seconds=10.0,
        # ``watched_s`` exceeds ``seconds``, because the run was observed before its first and after its last report.
        watched_s=12.5,
        cpu=CpuSeconds(slots=25.0, driver=6.25),
        start_s=0.25,
        checkpoints=tuple(checkpoint(number) for number in range(1, checkpoints + 1)),
        aborted=0,
        peak_rss_bytes=300_000_000,
        totals=Totals(records),
        wrong=wrong,
    )


def measured(*, wrong: str | None = None) -> BenchResult:
    return measurement(
        "abs6", EVERY_SECOND, 2, run(980, checkpoints=4, wrong=wrong), baseline=run(1_000),
        ceiling=CeilingRun(20_000, 10.0, 10.0, 0), about={"seed": 7},
    )  # fmt: skip


def test_ratios_compare_a_run_with_its_baseline_and_ceiling_runs() -> None:
    one = measured()

    assert (one.records_per_s, one.records_per_cpu_s) == (98.0, 49.0)
    assert (one.of_baseline, one.of_ceiling) == pytest.approx((0.98, 0.049))
    assert (one.of_baseline_cpu, one.of_ceiling_cpu) == pytest.approx((0.98, 0.0245))
    assert one.driver_cpu_share == 0.5


def test_checkpoint_statistics_are_in_milliseconds() -> None:
    one = measured()

    assert (one.checkpoints, one.checkpoint_ms_avg, one.checkpoint_ms_max) == (4, 25, 40)
    assert (one.alignment_ms_max, one.sync_ms_max, one.sync_cpu_ms_max, one.longest_batch_ms_max) == (2.0, 0.4, 0.028, 8.0)
    assert (one.sync_ms_p99, one.sync_own_ms_p99, one.longest_batch_core_wait_ms) == (0.4, pytest.approx(0.16), 1.0)
    assert one.checkpointed_bytes == 2_500


def test_a_run_that_took_turns_with_another_run_has_no_checkpoint_durations() -> None:
    one = measurement("abs6", EVERY_SECOND, 2, run(980, checkpoints=4), took_turns=True, about={})
    text = io.StringIO()
    show([one], Console(file=text, width=160))

    assert (one.checkpoints, one.checkpointed_bytes) == (4, 2_500)
    assert (one.checkpoint_ms_max, one.alignment_ms_max, one.sync_ms_p99, one.longest_batch_ms_max) == (None, None, None, None)
    assert "│ abs6     │     2 │     4 │       0 │   - │   - │" in text.getvalue()


def test_each_line_of_the_results_file_has_all_documented_fields(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    append(measured(), file)
    append(measured(wrong="a record is lost"), file)
    first, second = (json.loads(line) for line in file.read_text().splitlines())

    assert first.keys() >= DOCUMENTED_FIELDS
    assert (first["result_ok"], second["result_ok"]) == (True, False)
    assert first["run"] == {"seed": 7}


def test_a_percentile_is_one_of_the_measured_values() -> None:
    values = [float(value) for value in range(200, 0, -1)]

    assert percentile(values, 0.99) == 198.0
    assert percentile(values, 0.5) == 100.0
    assert percentile([3.0], 0.99) == 3.0
    assert percentile([], 0.99) is None


def test_a_spread_shows_median_minimum_and_maximum() -> None:
    assert spread([0.97, None, 1.01, 0.99]) == "99.0% (97.0% to 101.0%)"
    assert spread([0.5]) == "50.0%"
    assert spread([None]) == "-"


def test_the_table_marks_wrong_results() -> None:
    text = io.StringIO()
    one = measured(wrong="a record is lost")
    show([replace(one, setting=NONE), one], Console(file=text, width=160))

    assert text.getvalue().count("WRONG abs6, 2 slots") == 2
    assert "a record is lost" in text.getvalue()


def test_the_error_for_invalid_options_names_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--only", "abs6,abs7"])
    assert "no part abs7" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse(["--parallelism", "2,none"])
    assert "expected comma-separated numbers" in capsys.readouterr().err


def test_by_default_the_benchmark_measures_seven_pairs_of_runs_of_twenty_seconds_each() -> None:
    plan = parse([])

    assert (plan.pairs, plan.seconds, plan.million, plan.parallelisms) == (7, 20.0, 1_000_000, (2, 4))
    assert parse(["--quick", "--pairs", "3"]).pairs == 3
    assert parse(["--quick"]).few_pairs == 1


def test_the_cpu_time_of_the_calling_process_counts_as_cpu_time_of_the_driver() -> None:
    used = cpu_seconds()

    assert used.driver > 0
    assert used.slots == 0
    assert used.since(used) == CpuSeconds(0, 0)
