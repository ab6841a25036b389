from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import RunHandle, completed, end_run, new_job, new_run, sample, triggered
from tests.backend.metrics.test_diagnosis import IDLE, SLOW

from weir.protocol import codec
from weir.protocol.events import (
    CheckpointFailed,
    DriverState,
    Event,
    FailureOccurred,
    GraphDeployed,
    MetricsSampled,
    NumberedEvent,
    Recovered,
    RunStateChanged,
)
from weir.protocol.ids import CheckpointId, EventNumber, Generation
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link import service
from weir_backend.metrics.current import JobRates, rates_of
from weir_backend.metrics.series import TIMES, BackpressureLevel, Sample, level_of, pressure_of, series_of
from weir_backend.metrics.service import diagnose_jobs
from weir_backend.models import Role

MINUTE = timedelta(minutes=1)
T0 = datetime(2026, 1, 1, tzinfo=UTC)


def at_second(seconds: int, *, counted: int | None = None, generation: int = 1, slot: int = 0) -> Sample:
    metrics: Any = codec.to_json(sample(slot, seconds if counted is None else counted, generation=generation))
    return Sample(1, slot, T0 + timedelta(seconds=seconds), metrics)


def test_a_rate_is_the_difference_of_two_successive_samples_divided_by_their_interval() -> None:
    found = series_of([at_second(2), at_second(4), at_second(10)], since=T0)
    assert [(one.chain, one.index) for one in found.subtasks] == [(0, 0), (1, 0)]
    one = found.subtasks[0]
    assert one.at == [T0 + timedelta(seconds=4), T0 + timedelta(seconds=10)]
    assert one.per_s == {"records_in": [100, 100], "records_out": [50, 50], "bytes_in": [1000, 1000], "bytes_out": [500, 500]}
    assert {name: values[0] for name, values in one.ms_per_s.items()} == {
        "busy": 400, "idle": 300, "backpressured": 250, "queued": 50,
    }  # fmt: skip
    assert all(sum(one.ms_per_s[name][place] for name in TIMES) == pytest.approx(1000) for place in range(2))
    assert one.backpressure == [BackpressureLevel.LOW] * 2
    [slot] = found.slots
    assert slot.utilisation == [None, pytest.approx(0.3), pytest.approx(0.3)] and slot.gauges == {"counts.keys": [20, 40, 100]}


def test_no_rate_is_computed_from_samples_of_two_deployments() -> None:
    samples = [at_second(2), at_second(4), at_second(6, counted=1, generation=2), at_second(8, counted=3, generation=2)]
    one = series_of(samples, since=T0).subtasks[0]
    assert [at.second for at in one.at] == [4, 8] and one.per_s["records_in"] == [100, 100]
    replaced = [at_second(2), at_second(4), at_second(6, counted=1), at_second(8, counted=3)]
    one = series_of(replaced, since=T0).subtasks[0]
    assert [at.second for at in one.at] == [4, 8], "no rate is computed across the replacement of a slot"


def test_the_first_rate_uses_the_last_sample_before_the_requested_time() -> None:
    one = series_of([at_second(2), at_second(4), at_second(6)], since=T0 + timedelta(seconds=3)).subtasks[0]
    assert [at.second for at in one.at] == [4, 6]


@pytest.mark.parametrize(("ratio", "level"), [(0, "ok"), (0.1, "ok"), (0.11, "low"), (0.5, "low"), (0.51, "high")])
def test_the_pressure_determines_the_backpressure_level(ratio: float, level: str) -> None:
    assert level_of(ratio) == level


def test_queued_time_counts_as_pressure_unless_the_slot_idles() -> None:
    assert pressure_of(backpressured=0.1, queued=0.6, utilisation=0.99) == pytest.approx(0.7)
    assert pressure_of(backpressured=0.1, queued=0.6, utilisation=0.49) == 0.1
    samples = [at_second(2), at_second(4)]
    assert series_of(samples, since=T0).subtasks[0].pressure_ms_per_s == [250]
    for one in samples:
        one.metrics["loop_busy_us"] *= 3  # type: ignore[index]  # the JSON of a sample is a dictionary
    assert series_of(samples, since=T0).subtasks[0].pressure_ms_per_s == [300], "the slot is used for 90 % of the time"


def send_events(database: Database, run: RunHandle, *events: tuple[Event, datetime]) -> None:
    numbered = [
        NumberedEvent(EventNumber(place), int(at.timestamp() * 1000), event) for place, (event, at) in enumerate(events, 1)
    ]
    with database.session() as session:
        service.store(session, RecordedTasks(), service.known_run(session, run.id, run.token), numbered, oldest=1)


GRAPH = {"logical": {"operators": [{"uid": "u", "name": "words"}]}, "chains": [{"index": 0, "operators": ["u"]}]}


def test_series_have_one_point_per_step_and_name_their_operators(client: TestClient, database: Database, login: Login) -> None:
    run = new_run(database)
    begin = now() - timedelta(seconds=200)
    events: list[tuple[Event, datetime]] = [(GraphDeployed(GRAPH), begin)]
    for seconds in range(0, 200, 2):
        events += [(MetricsSampled(sample(slot, seconds)), begin + timedelta(seconds=seconds)) for slot in range(2)]
    send_events(database, run, *events)
    body = client.get(f"/api/v1/jobs/{run.job_id}/metrics?step_s=20", headers=login(Role.VIEWER)).json()
    assert [(one["chain"], one["index"], [name["name"] for name in one["operators"]]) for one in body["subtasks"]] == [
        (0, 0, ["words"]), (0, 1, ["words"]), (1, 0, []), (1, 1, []),
    ]  # fmt: skip
    one = body["subtasks"][0]
    assert 9 <= len(one["at"]) <= 11 and one["records_in_per_s"] == pytest.approx([100] * len(one["at"]))
    assert set(one["backpressure"]) == {"low"} and len(body["slots"]) == 2
    since = (begin + timedelta(seconds=150)).isoformat()
    later = client.get(f"/api/v1/jobs/{run.job_id}/metrics", params={"since": since, "step_s": 10}, headers=login()).json()
    assert 4 <= len(later["subtasks"][0]["at"]) <= 6
    of_one = client.get(f"/api/v1/jobs/{run.job_id}/metrics?step_s=20&chain=1", headers=login()).json()
    assert [(one["chain"], one["index"]) for one in of_one["subtasks"]] == [(1, 0), (1, 1)] and len(of_one["slots"]) == 2
    assert client.get(f"/api/v1/jobs/{run.job_id}/metrics?chain=9", headers=login()).json()["subtasks"] == []


def test_chains_with_the_same_number_but_different_operators_have_separate_series(
    client: TestClient, database: Database, login: Login
) -> None:
    """After an upgrade, the chain with the same number can contain other operators. A chain stays the same if only its
    parallelism changes."""
    other_operators = {"logical": {"operators": [{"uid": "v", "name": "more"}]}, "chains": [{"index": 0, "operators": ["v"]}]}
    other_parallelism = {**GRAPH, "slots": 4}
    begin = now() - timedelta(seconds=300)
    job_id = None
    for place, graph in enumerate((GRAPH, other_operators, other_parallelism)):
        run = new_run(database, job_id)
        job_id = run.job_id
        at = begin + timedelta(seconds=100 * place)
        metrics_events = [(MetricsSampled(sample(0, seconds)), at + timedelta(seconds=seconds)) for seconds in range(0, 60, 10)]
        send_events(database, run, (GraphDeployed(graph), at), *metrics_events)
        if graph is not other_parallelism:
            end_run(database, run)
    body = client.get(f"/api/v1/jobs/{job_id}/metrics?step_s=10", headers=login(Role.VIEWER)).json()
    (one,) = [one for one in body["subtasks"] if one["chain"] == 0]
    hundreds_s = [(datetime.fromisoformat(at) - begin).total_seconds() // 100 for at in one["at"]]
    assert set(hundreds_s) == {0, 2} and [name["uid"] for name in one["operators"]] == ["u"]


def test_queries_with_invalid_parameters_are_refused(client: TestClient, database: Database, login: Login) -> None:
    job, headers = new_job(database), login(Role.VIEWER)
    url = f"/api/v1/jobs/{job}/metrics"
    assert client.get(url, headers=headers).json()["subtasks"] == []
    assert client.get("/api/v1/jobs/999/metrics", headers=headers).status_code == 404
    for query in ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"):
        assert client.get(url, params={"since": query}, headers=headers).status_code == 200
    for query in (
        "since=2999-01-01T00:00:00Z",
        "since=2026-01-01T00:00:00",
        "step_s=0",
        "step_s=nan",
        "since=x",
        "chain=-1",
        "chain=x",
    ):
        assert client.get(f"{url}?{query}", headers=headers).status_code == 422, query


def test_one_request_returns_the_current_rates_of_several_jobs(client: TestClient, database: Database, login: Login) -> None:
    run, idle_job, moment = new_run(database, new_job(database, "fast")), new_job(database, "idle"), now()
    graph = {"logical": {"operators": []}, "chains": [], "edges": [{"source": 0, "target": 1}]}
    events: list[tuple[Event, datetime]] = [(GraphDeployed(graph), moment - timedelta(seconds=40))]
    for ago in (28, 14, 2):
        for slot in range(2):
            metrics = replace(
                sample(slot, 100 - ago), gauges={"in.lag_records": 40 + slot, "in.lag_seconds": 3.5 + slot, "counts.keys": 7}
            )
            events.append((MetricsSampled(metrics), moment - timedelta(seconds=ago)))
    send_events(database, run, *events)
    query = {"job_id": [run.job_id, idle_job, 999]}
    [rates] = client.get("/api/v1/metrics/jobs", params=query, headers=login(Role.VIEWER)).json()
    assert rates.pop("records_per_s") == pytest.approx(200), "the rate is the sum of the sources in both slots"
    assert datetime.fromisoformat(rates.pop("at")) == pytest.approx(moment - timedelta(seconds=2), abs=timedelta(milliseconds=2))
    assert rates == {"job_id": run.job_id, "lag_records": 81, "lag_seconds": 4.5, "backpressure": "low"}
    assert client.get("/api/v1/metrics/jobs", params=query).status_code == 401
    all_jobs = client.get("/api/v1/metrics/jobs", headers=login(Role.VIEWER)).json()
    assert [one["job_id"] for one in all_jobs] == [run.job_id], "without a job_id, all running jobs are returned"
    for query in ("?job_id=0", "?job_id=x", "?job_id=99999999999999999999", "?" + "&".join(["job_id=1"] * 201)):
        assert client.get(f"/api/v1/metrics/jobs{query}", headers=login(Role.VIEWER)).status_code == 422, query


def test_a_rate_is_omitted_only_if_its_own_data_is_missing() -> None:
    series = series_of([at_second(2), at_second(4)], since=T0)
    assert rates_of(series, None) == JobRates(T0 + timedelta(seconds=4), 100, None, None, BackpressureLevel.LOW)
    both = rates_of(series, [])
    assert both is not None and both.records_per_s == 200, "the graph has no edges, so both chains are sources"
    once = rates_of(series_of([at_second(2)], since=T0), None)
    assert once == JobRates(T0 + timedelta(seconds=2), None, None, None, None)
    assert rates_of(series_of([], since=T0), []) is None


SLOW_CHECKPOINT = replace(completed(1), end_to_end_ms=52_600)


def test_a_job_and_its_metrics_name_the_same_bottleneck(client: TestClient, database: Database, login: Login) -> None:
    moment, idle = now(), new_run(database)
    runs = [new_run(database), new_run(database)]
    running: Event = RunStateChanged(DriverState.RUNNING, Generation(1))
    for run, load in ((idle, replace(SLOW, loads=[[IDLE] * 2] * 3)), (runs[0], SLOW), (runs[1], SLOW)):
        checkpoint = SLOW_CHECKPOINT if run is runs[1] else completed(1)
        begin = moment - timedelta(minutes=5)
        send_events(database, run, (running, begin), *load.events(moment), (triggered(1), moment - MINUTE), (checkpoint, moment))
    headers = login(Role.VIEWER)
    listed = {one["id"]: one for one in client.get("/api/v1/jobs", headers=headers).json()}
    expected = "slow is the bottleneck: busy 100 % for 4 min, and its input is backpressured."
    job = client.get(f"/api/v1/jobs/{runs[0].job_id}", headers=headers).json()
    assert (job["health"], job["health_reasons"], job["health_reason"]) == ("healthy", [], ""), "the job is as fast as it can be"
    assert job["bottleneck"]["sentence"] == expected == listed[job["id"]]["bottleneck"]["sentence"]
    assert (job["bottleneck"]["chain"], job["bottleneck"]["operators"], job["bottleneck"]["subtasks"]) == (1, ["slow"], [])
    assert moment - timedelta(seconds=330) < datetime.fromisoformat(job["bottleneck"]["since"]) < moment - timedelta(seconds=180)
    metrics = client.get(f"/api/v1/jobs/{runs[0].job_id}/metrics?chain=0", headers=headers).json()
    assert metrics["bottleneck"]["sentence"] == expected

    job = client.get(f"/api/v1/jobs/{runs[1].job_id}", headers=headers).json()
    assert (job["health"], [one["code"] for one in job["health_reasons"]]) == ("degraded", ["slow-checkpoints", "bottleneck"])
    assert job["health_reason"] == (
        f"Checkpoint 1 took 52 s; the checkpoint interval is 10 s. {expected.removesuffix('.')}; checkpoints are late."
    )
    for field in ("health", "health_reasons", "health_reason"):
        assert listed[job["id"]][field] == job[field]

    job = client.get(f"/api/v1/jobs/{idle.job_id}", headers=headers).json()
    assert (job["health"], job["bottleneck"]) == ("healthy", None)
    metrics = client.get(f"/api/v1/jobs/{idle.job_id}/metrics", headers=headers).json()
    assert metrics["bottleneck"] is None


def test_a_new_bottleneck_is_found_before_a_long_step_of_older_samples_ends(database: Database) -> None:
    run, moment = new_run(database), now().replace(second=59)
    running: Event = RunStateChanged(DriverState.RUNNING, Generation(1))
    send_events(database, run, (running, moment), *replace(SLOW, minutes=1).events(moment))
    with database.session() as session:
        found = diagnose_jobs(session, [run.job_id], moment)[run.job_id].bottleneck
    assert found is not None and found.chain == 1


def test_a_job_that_does_not_run_has_no_bottleneck(client: TestClient, database: Database, login: Login) -> None:
    run, moment = new_run(database), now()
    running: Event = RunStateChanged(DriverState.RUNNING, Generation(1))
    restarting: Event = RunStateChanged(DriverState.RESTARTING, Generation(1), "slot 1 was lost")
    send_events(database, run, (running, moment), *SLOW.events(moment), (restarting, moment))
    job = client.get(f"/api/v1/jobs/{run.job_id}", headers=login(Role.VIEWER)).json()
    assert job["bottleneck"] is None and job["health_reasons"] == [{"code": "not-running", "text": "slot 1 was lost"}]


def test_prometheus_metrics_contain_all_jobs(client: TestClient, database: Database, login: Login) -> None:
    run, moment = new_run(database, new_job(database, 'odd "name"\\')), now()
    new_job(database, "idle")
    lagging = [
        replace(sample(slot, 7), gauges={"in.lag_records": 40, "in.lag_seconds": 3.5 + slot, "in.odd": "x"}) for slot in (1, 2)
    ]
    send_events(
        database, run, (GraphDeployed(GRAPH), moment), (triggered(1), moment),
        (completed(1, written=700), moment - timedelta(seconds=30)), (triggered(2), moment),
        (CheckpointFailed(CheckpointId(2), "no"), moment), (triggered(3), moment), (FailureOccurred(Generation(1), "x"), moment),
        (Recovered(Generation(2), "x", 2_500), moment), (MetricsSampled(sample(0, 7)), moment),
        *((MetricsSampled(one), moment) for one in lagging),
    )  # fmt: skip
    assert client.get("/metrics").status_code == 401
    answer = client.get("/metrics", headers=login(Role.VIEWER))
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    shown = {
        (one.name, *sorted(one.labels.items())): one.value
        for family in text_string_to_metric_families(answer.text)
        for one in family.samples
    }
    job = ("job", 'odd "name"\\')
    assert shown["weir_job_last_checkpoint_duration_seconds", job] == pytest.approx(0.041)
    assert shown["weir_job_last_checkpoint_full_size_bytes", job] == 2000
    assert shown["weir_job_last_checkpoint_size_bytes", job] == 700
    assert shown["weir_source_lag_records", job, ("source", "in")] == 80
    assert shown["weir_source_lag_seconds", job, ("source", "in")] == 5.5
    assert shown["weir_chain_operator", ("chain", "0"), job, ("operator", "u")] == 1
    assert shown["weir_job_last_completed_checkpoint_id", job] == 1
    assert 30 <= shown["weir_job_last_completed_checkpoint_age_seconds", job] < 60
    for word in ("in_progress", "completed", "failed"):
        assert shown[f"weir_job_number_of_{word}_checkpoints", job] == 1
    assert shown["weir_job_num_restarts_total", job] == 1 and shown["weir_job_recovery_downtime_seconds_total", job] == 2.5
    assert shown["weir_subtask_records_in_total", ("chain", "1"), job, ("subtask", "0")] == 700
    assert shown["weir_subtask_backpressured_seconds_total", ("chain", "0"), job, ("subtask", "0")] == 1.75
    assert shown["weir_operator_gauge", ("gauge", "counts.keys"), job, ("slot", "0")] == 70
    assert shown["weir_job_state", ("job", "idle"), ("state", "NONE")] == 1
    assert shown["weir_job_number_of_completed_checkpoints", ("job", "idle")] == 0


def test_checkpoint_values_that_an_older_driver_does_not_report_are_omitted(
    client: TestClient, database: Database, login: Login
) -> None:
    send_events(database, new_run(database), (triggered(1), now()), (completed(1), now()))
    text = client.get("/metrics", headers=login(Role.VIEWER)).text
    assert "\nweir_job_last_checkpoint_full_size_bytes{" in text and "\nweir_job_last_checkpoint_size_bytes{" not in text
