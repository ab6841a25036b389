"""The generated data, the row counts and the checks of the control plane benchmark."""

from __future__ import annotations

import io
import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest
from pydantic import SecretStr
from rich.console import Console

from bench.platform import driver_events, month
from bench.platform.api_reads import ReadTimes, measurements
from bench.platform.endpoints import Page, readable_paths
from bench.platform.graph import SUBTASKS
from bench.platform.offered_load import PacedDriver
from bench.platform.options import parse
from bench.platform.result_tables import line, show
from bench.platform.results import Aim, Measurement, about, append
from bench.platform.stream_clients import StreamedEvent, StreamRecord
from bench.platform.table_filler import fill_plan
from weir.protocol.events import CheckpointCompleted, CheckpointFailed, CheckpointTriggered, decode_batch
from weir_backend.app import create_app
from weir_backend.link.changes import RunFacts, RunRow
from weir_backend.link.projection import project
from weir_backend.models import CheckpointState, RunState
from weir_backend.settings import Settings


class NoTasks:
    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None) -> None:
        raise AssertionError("no request enqueues a task")


def test_a_round_of_generated_events_contains_one_checkpoint_and_its_metrics_samples() -> None:
    events = list(islice(driver_events.endless(random.Random(3)), 3 * driver_events.ROUND))
    for begin in range(0, len(events), driver_events.ROUND):
        own = driver_events.numbered(events[begin : begin + driver_events.ROUND], first=1, at_ms=0)
        rows = driver_events.rows_of(own)
        assert (rows.logged, rows.samples) == (driver_events.LOGGED_A_ROUND, driver_events.SAMPLES_A_CHECKPOINT)
        assert (rows.triggered, rows.completed) == (1, 1)


def test_additional_samples_at_the_start_of_a_run_delay_the_first_round_of_events_but_do_not_change_this_round() -> None:
    plain = list(islice(driver_events.endless(random.Random(3)), driver_events.ROUND))
    led = list(islice(driver_events.endless(random.Random(3), lead=17), 17 + driver_events.ROUND))
    assert led[17:] == plain and driver_events.rows_of(driver_events.numbered(led[:17], first=1, at_ms=0)).samples == 17


def test_the_expected_number_of_rows_equals_the_number_that_the_projection_writes() -> None:
    made = driver_events.batches(4, 50, random=random.Random(5), at_ms=1_790_000_000_000, first=1)
    facts = RunFacts(0, RunRow(1, 1, RunState.RUNNING, "", 1, None, None, 0, 0), {}, frozenset(), None, [], {})
    logged = samples = 0
    for batch in made:
        events = decode_batch(batch.body)
        assert (events[0].number, events[-1].number) == (batch.first, batch.last)
        changes = project(facts, events, received_at=datetime.now(UTC))
        assert (len(changes.events), len(changes.samples)) == (batch.rows.logged, batch.rows.samples)
        logged, samples = logged + len(changes.events), samples + len(changes.samples)
        facts = replace(facts, event_number=changes.event_number)
    completed = [row for row in facts.checkpoints.values() if row.state is CheckpointState.COMPLETED]
    assert sum(batch.rows.completed for batch in made) == len(completed) == 3
    acknowledged = sum(row.acknowledged for row in facts.checkpoints.values())
    assert acknowledged == 200 - logged - samples and all(row.acknowledged == SUBTASKS for row in completed)


@pytest.mark.parametrize("fails", [True, False])
def test_the_events_of_a_checkpoint_start_with_its_trigger_and_end_with_its_outcome(fails: bool) -> None:
    first, *between, last = driver_events.checkpoint(9, 4, random.Random(1), fails=fails)
    assert isinstance(first, CheckpointTriggered) and first.subtasks == SUBTASKS
    assert isinstance(last, CheckpointFailed if fails else CheckpointCompleted)
    assert len(between) == SUBTASKS // (2 if fails else 1)


@pytest.mark.parametrize("arguments", [["--quick"], [], ["--jobs", "7", "--checkpoints", "99", "--events", "1501"]])
def test_the_tables_get_the_requested_number_of_rows(arguments: list[str]) -> None:
    plan = parse(arguments)
    found = fill_plan(plan)
    copies = [found.templates[number % len(found.templates)] for number in range(found.copies)]
    assert len(found.scripts) + len(copies) == plan.jobs
    assert sum(script.checkpoints for script in (*found.scripts, *copies)) == plan.checkpoints
    assert sum(script.events for script in (*found.scripts, *copies)) == plan.events
    assert len({script.name for script in found.scripts}) == len({script.seed for script in found.scripts}) == len(found.scripts)
    assert len({(script.checkpoints, script.events) for script in found.templates}) <= 1, (
        "all template jobs have the same number of rows"
    )
    largest = found.scripts[0]
    assert largest.end is None and all(script.events <= largest.events for script in found.scripts)


def test_the_month_is_measured_only_on_request_and_has_the_rows_that_the_default_settings_leave() -> None:
    assert "month" not in parse([]).parts and parse(["--only", "month"]).parts == ("month",)
    settings = Settings.model_construct(checkpoints_full_days=1.0, checkpoints_per_minute_days=7.0)
    times = [at for at, _ in month.times_of(month.stretches(settings, 30), datetime.now(UTC))]
    assert len(times) == 22 * 24 + 6 * 1_440 + 2 * 8_640
    assert times == sorted(set(times))


def test_an_unknown_part_of_the_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--only", "reading,writing"])
    assert "no part writing" in capsys.readouterr().err


def test_the_benchmark_can_call_every_read_only_endpoint() -> None:
    unreachable = SecretStr("postgresql://weir@127.0.0.1:1/none")
    settings = Settings(
        database_url=unreachable, redis_url=SecretStr("redis://127.0.0.1:1/0"), secret_key=SecretStr("x" * 32), data_dir=Path("/nowhere")
    )  # fmt: skip
    document = create_app(settings, NoTasks()).openapi()
    endpoints, unknown = readable_paths(document)
    assert unknown == []
    assert {"list_jobs", "get_job", "list_events", "get_checkpoint", "get_run_graph", "list_audit", "get_metrics"} <= set(
        endpoints
    )


def test_an_endpoint_with_an_unknown_parameter_is_reported() -> None:
    path = {"get": {"operationId": "get_secret_plan", "parameters": [{"name": "secret"}]}}
    assert readable_paths({"paths": {"/api/v1/secrets/{secret}": path}})[1] == [
        "get_secret_plan: unknown path parameter {secret}. Add the parameter to bench/platform/endpoints.py."
    ]


def stream_of(*numbers: int) -> StreamRecord:
    return StreamRecord(5, 10, [StreamedEvent(number, number, 0.0) for number in numbers])


def test_missing_duplicate_or_reordered_events_in_a_stream_are_an_error() -> None:
    assert stream_of(11, 12, 13).find_error(13) is None
    assert stream_of().find_error(10) is None
    for stream in (
        stream_of(11, 13),
        stream_of(11, 12),
        stream_of(11, 12, 12, 13),
        stream_of(12, 11, 13),
        stream_of(11, 12, 13, 14),
    ):
        assert stream.find_error(13) is not None


def test_an_event_has_the_sending_time_of_its_batch() -> None:
    driver = PacedDriver(lasts=[4, 9, 10], sent_s=[1.0, 2.0, 3.0])
    assert [driver.sent_at(event) for event in (1, 4, 5, 9, 10)] == [1.0, 1.0, 2.0, 2.0, 3.0]


def test_the_target_is_met_only_if_the_slowest_page_meets_it() -> None:
    quick, slow, without_aim = (
        Page("list_jobs", "first page", "/a"),
        Page("list_jobs", "by name", "/b"),
        Page("list_jobs", "all", "/c", aimed=False),
    )
    times = ReadTimes({quick: [1.0] * 40, slow: [1.0] * 37 + [150.0] * 3, without_aim: [900.0] * 40}, {"/b: 3 rows instead of 4"})
    within, without = measurements("one by one", times, "list_jobs", 40, {"api_cpu_ms": 2.0})
    assert within.values["slowest"] == "by name" and within.values["slowest_p95_ms"] == 150.0 and within.values["p50_ms"] == 1.0
    assert within.aim is not None and within.aim.met is False and within.wrong == "/b: 3 rows instead of 4"
    assert without.aim is None and without.wrong is None and without.values["p50_ms"] == 900.0
    [measured] = measurements("one by one", ReadTimes({quick: [1.0] * 5}), "list_jobs", 5, {})
    assert measured.aim is not None and measured.aim.met is None, "five rounds are too few to judge the target"


def test_a_stored_measurement_includes_machine_and_settings(tmp_path: Path) -> None:
    run = about(parse(["--quick"]), ["--quick"])
    one = Measurement("ingest", "batches of 300", {"events_per_s": 5_123.4}, Aim("at least 5,000 events/s", True))
    append(one, run, tmp_path / "platform.jsonl")
    append(replace(one, wrong="an event is missing"), run, tmp_path / "platform.jsonl")
    first, second = [json.loads(text) for text in (tmp_path / "platform.jsonl").read_text().splitlines()]
    assert first["values"] == {"events_per_s": 5_123.4} and first["aim"]["met"] is True and first["wrong"] is None
    assert second["wrong"] == "an event is missing" and "load" in second
    assert first["run"]["settings"]["streams"] == 40 and first["run"]["machine"]["cores"] >= 1 and "commit" in first["run"]


def test_errors_and_missed_targets_are_printed() -> None:
    missed = Measurement("ingest", "batches of 300", {"events_per_s": 4_000.0}, Aim("at least 5,000 events/s", False))
    wrong = Measurement("streams", "200 streams", {"delay_p99_ms": 12.0}, None, "a stream delivered 3 of 4 events")
    assert "not met" in line(missed) and "WRONG" not in line(missed) and "WRONG: a stream delivered 3 of 4 events" in line(wrong)
    shown = io.StringIO()
    show([missed, wrong], Console(file=shown, width=200))
    assert "not met" in shown.getvalue() and "a stream delivered 3 of 4 events" in shown.getvalue()
