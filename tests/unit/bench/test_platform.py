"""What the benchmark of the control plane makes up, counts and notices; not how long anything takes."""

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

from bench.platform import history
from bench.platform.endpoints import Page, readable_paths
from bench.platform.filling import stories
from bench.platform.following import Followed, Stream
from bench.platform.graph import SUBTASKS
from bench.platform.offered import Delivered
from bench.platform.options import parse
from bench.platform.reading import Taken, measurements
from bench.platform.results import Aim, Measurement, about, append
from bench.platform.tables import line, show
from weir.protocol.events import CheckpointCompleted, CheckpointFailed, CheckpointTriggered, decode_batch
from weir_backend.app import create_app
from weir_backend.link.fold import fold
from weir_backend.link.rows import Facts, RunRow
from weir_backend.models import CheckpointState, RunState
from weir_backend.settings import Settings


class NoTasks:
    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None) -> None:
        raise AssertionError("nothing is served")


def test_a_round_of_a_healthy_run_is_one_checkpoint_and_its_samples() -> None:
    events = list(islice(history.endless(random.Random(3)), 3 * history.ROUND))
    for begin in range(0, len(events), history.ROUND):
        own = history.numbered(events[begin : begin + history.ROUND], first=1, at_ms=0)
        rows = history.rows_of(own)
        assert (rows.logged, rows.samples) == (history.LOGGED_A_ROUND, history.SAMPLES_A_CHECKPOINT)
        assert (rows.triggered, rows.completed) == (1, 1)


def test_what_precedes_the_first_checkpoint_moves_it_and_changes_nothing_else() -> None:
    plain = list(islice(history.endless(random.Random(3)), history.ROUND))
    led = list(islice(history.endless(random.Random(3), lead=17), 17 + history.ROUND))
    assert led[17:] == plain and history.rows_of(history.numbered(led[:17], first=1, at_ms=0)).samples == 17


def test_the_rows_that_are_expected_are_those_that_the_fold_makes() -> None:
    made = history.batches(4, 50, random=random.Random(5), at_ms=1_790_000_000_000, first=1)
    facts = Facts(0, RunRow(1, 1, RunState.RUNNING, "", 1, None, None, 0, 0), {}, frozenset(), None, [], {})
    logged = samples = 0
    for batch in made:
        events = decode_batch(batch.body)
        assert (events[0].number, events[-1].number) == (batch.first, batch.last)
        changes = fold(facts, events, received_at=datetime.now(UTC))
        assert (len(changes.events), len(changes.samples)) == (batch.rows.logged, batch.rows.samples)
        logged, samples = logged + len(changes.events), samples + len(changes.samples)
        facts = replace(facts, event_number=changes.event_number)
    completed = [row for row in facts.checkpoints.values() if row.state is CheckpointState.COMPLETED]
    assert sum(batch.rows.completed for batch in made) == len(completed) == 3
    acknowledged = sum(row.acknowledged for row in facts.checkpoints.values())
    assert acknowledged == 200 - logged - samples and all(row.acknowledged == SUBTASKS for row in completed)


@pytest.mark.parametrize("fails", [True, False])
def test_a_checkpoint_is_told_from_its_trigger_to_its_end(fails: bool) -> None:
    first, *between, last = history.checkpoint(9, 4, random.Random(1), fails=fails)
    assert isinstance(first, CheckpointTriggered) and first.subtasks == SUBTASKS
    assert isinstance(last, CheckpointFailed if fails else CheckpointCompleted)
    assert len(between) == SUBTASKS // (2 if fails else 1)


@pytest.mark.parametrize("arguments", [["--quick"], [], ["--jobs", "7", "--checkpoints", "99", "--events", "1501"]])
def test_the_tables_get_as_much_as_is_asked_for(arguments: list[str]) -> None:
    plan = parse(arguments)
    found = stories(plan)
    copies = [found.copied[number % len(found.copied)] for number in range(found.copies)]
    assert len(found.told) + len(copies) == plan.jobs
    assert sum(story.checkpoints for story in (*found.told, *copies)) == plan.checkpoints
    assert sum(story.events for story in (*found.told, *copies)) == plan.events
    assert len({story.name for story in found.told}) == len({story.seed for story in found.told}) == len(found.told)
    assert len({(story.checkpoints, story.events) for story in found.copied}) <= 1, "copies are counted by the first of them"
    largest = found.told[0]
    assert largest.end is None and all(story.events <= largest.events for story in found.told)


def test_a_part_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--only", "reading,writing"])
    assert "no part writing" in capsys.readouterr().err


def test_every_endpoint_that_can_be_read_is_known() -> None:
    nowhere = SecretStr("postgresql://nobody@127.0.0.1:1/none")
    settings = Settings(
        database_url=nowhere, redis_url=SecretStr("redis://127.0.0.1:1/0"), secret_key=SecretStr("x" * 32), data_dir=Path("/nowhere")
    )  # fmt: skip
    document = create_app(settings, NoTasks()).openapi()
    known, unknown = readable_paths(document)
    assert unknown == []
    assert {"list_jobs", "get_job", "list_events", "get_checkpoint", "get_run_graph", "list_audit", "get_metrics"} <= set(known)


def test_an_endpoint_that_nobody_knows_how_to_call_is_named() -> None:
    path = {"get": {"operationId": "get_secret_plan", "parameters": [{"name": "riddle"}]}}
    assert readable_paths({"paths": {"/api/v1/riddles/{riddle}": path}})[1] == [
        "get_secret_plan: what {riddle} stands for is not known: tell it to bench/platform/endpoints.py"
    ]


def told(*numbers: int) -> Stream:
    return Stream(5, 10, [Followed(number, number, 0.0) for number in numbers])


def test_a_stream_that_told_all_is_right_and_any_other_is_wrong() -> None:
    assert told(11, 12, 13).wrong(13) is None
    assert told().wrong(10) is None
    for stream in (told(11, 13), told(11, 12), told(11, 12, 12, 13), told(12, 11, 13), told(11, 12, 13, 14)):
        assert stream.wrong(13) is not None


def test_an_event_was_sent_with_the_batch_that_it_is_in() -> None:
    driver = Delivered(lasts=[4, 9, 10], sent_s=[1.0, 2.0, 3.0])
    assert [driver.sent_at(event) for event in (1, 4, 5, 9, 10)] == [1.0, 1.0, 2.0, 2.0, 3.0]


def test_the_slowest_page_decides_whether_the_aim_is_met() -> None:
    quick, slow, far = (
        Page("list_jobs", "first page", "/a"),
        Page("list_jobs", "by name", "/b"),
        Page("list_jobs", "all", "/c", aimed=False),
    )
    taken = Taken({quick: [1.0] * 40, slow: [1.0] * 37 + [150.0] * 3, far: [900.0] * 40}, {"/b: 3 rows instead of 4"})
    within, without = measurements("one by one", taken, "list_jobs", 40, {"api_cpu_ms": 2.0})
    assert within.values["slowest"] == "by name" and within.values["slowest_p95_ms"] == 150.0 and within.values["p50_ms"] == 1.0
    assert within.aim is not None and within.aim.met is False and within.wrong == "/b: 3 rows instead of 4"
    assert without.aim is None and without.wrong is None and without.values["p50_ms"] == 900.0
    [judged] = measurements("one by one", Taken({quick: [1.0] * 5}), "list_jobs", 5, {})
    assert judged.aim is not None and judged.aim.met is None, "five are too few"


def test_a_measurement_is_kept_with_where_and_how_it_was_taken(tmp_path: Path) -> None:
    run = about(parse(["--quick"]), ["--quick"])
    one = Measurement("ingest", "batches of 300", {"events_per_s": 5_123.4}, Aim("at least 5,000 events/s", True))
    append(one, run, tmp_path / "platform.jsonl")
    append(replace(one, wrong="an event is missing"), run, tmp_path / "platform.jsonl")
    first, second = [json.loads(text) for text in (tmp_path / "platform.jsonl").read_text().splitlines()]
    assert first["values"] == {"events_per_s": 5_123.4} and first["aim"]["met"] is True and first["wrong"] is None
    assert second["wrong"] == "an event is missing" and "load" in second
    assert first["run"]["settings"]["streams"] == 40 and first["run"]["machine"]["cores"] >= 1 and "commit" in first["run"]


def test_what_is_wrong_and_what_was_missed_is_shown() -> None:
    missed = Measurement("ingest", "batches of 300", {"events_per_s": 4_000.0}, Aim("at least 5,000 events/s", False))
    wrong = Measurement("streams", "200 streams", {"delay_p99_ms": 12.0}, None, "a stream told 3 events of 4")
    assert "not met" in line(missed) and "WRONG" not in line(missed) and "WRONG: a stream told 3 events of 4" in line(wrong)
    shown = io.StringIO()
    show([missed, wrong], Console(file=shown, width=200))
    assert "not met" in shown.getvalue() and "a stream told 3 events of 4" in shown.getvalue()
