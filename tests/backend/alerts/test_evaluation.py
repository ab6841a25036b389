"""Evaluation of alert rules with a real database: alerts, outages, changed rules, and concurrent or interrupted evaluations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, select, update
from tests.backend.alerts.alert_scenario import RUN_STARTED, AlertScenario
from tests.backend.conftest import Login
from tests.backend.jobs import completed, end_run, new_job, new_run, triggered
from tests.backend.metrics.test_diagnosis import SLOW

from weir.protocol.events import CheckpointFailed, DriverState, FailureOccurred, MetricsSampled, Recovered, RunStateChanged
from weir.protocol.ids import CheckpointId, Generation, SlotIndex
from weir.protocol.messages import SlotMetrics
from weir.protocol.snapshots import JsonValue
from weir_backend.alerts import evaluation, facts
from weir_backend.jobs.spec import interval_s
from weir_backend.kit import heartbeats
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import DELIVER
from weir_backend.models import AlertKind, AlertRule, DesiredState, Job, Role, Run, RunState, Spec
from weir_backend.reconciler.service import mark_driver_lost
from weir_backend.settings import Settings

MINUTE = timedelta(minutes=1)


@pytest.fixture
def scenario(database: Database, settings: Settings) -> AlertScenario:
    return AlertScenario(database, settings)


def set_desired_state(scenario: AlertScenario, job_id: int, desired: DesiredState) -> None:
    with scenario.database.session() as session:
        session.execute(update(Job).where(Job.id == job_id).values(desired_state=desired))


# ---- firing and resolution ---------------------------------------------------------------------


def test_an_alert_fires_when_checkpoints_stop_and_the_next_checkpoint_resolves_the_alert(scenario: AlertScenario) -> None:
    run, hook = scenario.running(), scenario.webhook()
    rule = scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=hook)
    scenario.send_events(run, triggered(1), completed(1))
    scenario.evaluate(9 * MINUTE)
    assert scenario.alerts() == []
    scenario.tasks.enqueued.clear()
    for _ in range(3):
        scenario.evaluate(11 * MINUTE)
    [alert] = scenario.alerts()
    assert (alert.rule_id, alert.job_id, alert.state.value, alert.resolved_at) == (rule, run.job_id, "FIRING", None)
    assert alert.since == scenario.began + 11 * MINUTE and "since checkpoint 1," in alert.message
    [fields] = scenario.events_of(run.job_id, "AlertFired")
    assert fields == {"alert": alert.id, "rule": alert.rule_name, "rule_kind": "no-checkpoint", "message": alert.message}
    [message] = scenario.deliveries()
    assert (message.alert_id, message.webhook_id, message.message_kind.value, message.state.value) == (
        alert.id,
        hook,
        "FIRING",
        "PENDING",
    )
    assert scenario.tasks.enqueued == [(DELIVER, ())]

    scenario.send_events(run, triggered(2), completed(2))
    for _ in range(2):
        scenario.evaluate(MINUTE)
    [alert] = scenario.alerts()
    assert (alert.state.value, alert.resolved_at, alert.resolution) == (
        "RESOLVED", scenario.began + MINUTE, "checkpoint 2 is completed",
    )  # fmt: skip
    assert [one.message_kind.value for one in scenario.deliveries()] == ["FIRING", "RESOLVED"]
    assert len(scenario.events_of(run.job_id, "AlertResolved")) == 1

    scenario.evaluate(20 * MINUTE)
    assert scenario.states() == ["RESOLVED", "FIRING"], "the rule can fire again"


@pytest.mark.parametrize("desired", [DesiredState.SUSPENDED, DesiredState.CANCELLED])
def test_suspending_or_cancelling_a_job_resolves_its_alert(scenario: AlertScenario, desired: DesiredState) -> None:
    run, other = scenario.running(), scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    set_desired_state(scenario, other.job_id, desired)
    scenario.evaluate(11 * MINUTE)
    assert [one.job_id for one in scenario.alerts()] == [run.job_id]
    set_desired_state(scenario, run.job_id, desired)
    scenario.evaluate(12 * MINUTE)
    assert scenario.alerts()[0].resolution == "the job was suspended or cancelled"


def test_no_alert_fires_for_a_finished_job(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scenario.send_events(run, RunStateChanged(DriverState.FINISHED, Generation(1)))
    scenario.evaluate(60 * MINUTE)
    assert scenario.alerts() == []


def test_an_alert_about_missing_checkpoints_fires_for_a_run_that_never_starts_but_not_for_a_job_without_a_run(
    scenario: AlertScenario,
) -> None:
    new_job(scenario.database)
    starting = new_run(scenario.database)
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scenario.evaluate(9 * MINUTE)
    assert scenario.alerts() == []
    scenario.evaluate(11 * MINUTE)
    assert [one.job_id for one in scenario.alerts()] == [starting.job_id]


def test_only_a_start_by_a_user_and_not_a_restart_resets_the_time_without_a_checkpoint(scenario: AlertScenario) -> None:
    rule = scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    jobs = []
    for cause in ("restart", "start"):
        first = scenario.running()
        end_run(scenario.database, first)
        second = new_run(scenario.database, first.job_id)
        scenario.send_events(second, RUN_STARTED)
        with scenario.database.session() as session:
            session.execute(update(Run).where(Run.id == second.id).values(cause=cause))
            session.execute(
                update(Run)
                .where(Run.id == first.id)
                .values(created_at=scenario.began - 8 * MINUTE, running_at=scenario.began - 8 * MINUTE)
            )
        jobs.append(first.job_id)
    scenario.evaluate(3 * MINUTE)
    assert [(one.rule_id, one.job_id) for one in scenario.alerts()] == [(rule, jobs[0])]


def test_an_alert_about_checkpoints_waits_for_two_intervals_and_needs_periodic_checkpoints(
    scenario: AlertScenario,
) -> None:
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    for interval in ("none", "1h", "10s"):
        run = scenario.running(interval)
        with scenario.database.session() as session:
            session.execute(update(Spec).where(Spec.job_id == run.job_id).values(body={"checkpointing": {"interval": interval}}))
    with scenario.database.session() as session:
        names = {job.id: job.name for job in session.scalars(select(Job))}
    scenario.evaluate(30 * MINUTE)
    assert [names[one.job_id] for one in scenario.alerts()] == ["10s"]
    scenario.evaluate(121 * MINUTE)
    assert [names[one.job_id] for one in scenario.alerts()] == ["10s", "1h"]


def test_a_rule_of_one_job_fires_only_for_this_job(scenario: AlertScenario) -> None:
    one, _ = scenario.running(), scenario.running()
    rule = scenario.rule(AlertKind.NO_CHECKPOINT, minutes=1, job_id=one.job_id)
    scenario.evaluate(5 * MINUTE)
    assert [(alert.rule_id, alert.job_id) for alert in scenario.alerts()] == [(rule, one.job_id)]


def test_alerts_use_the_clock_of_the_control_plane_and_not_the_clock_of_the_driver(scenario: AlertScenario) -> None:
    ahead, behind = scenario.running(), scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scenario.send_events(ahead, triggered(1), completed(1), at=now() + timedelta(days=400))
    scenario.send_events(behind, triggered(1), completed(1), at=now() - timedelta(days=400))
    scenario.evaluate(9 * MINUTE)
    assert scenario.alerts() == []
    scenario.evaluate(11 * MINUTE)
    assert len(scenario.alerts()) == 2


# ---- failures, restarts, lag -------------------------------------------------------------------


def failure(generation: int) -> FailureOccurred:
    return FailureOccurred(Generation(generation), "a slot was lost")


def recovered(generation: int) -> Recovered:
    return Recovered(Generation(generation), "", 1_000)


def test_failures_are_counted_since_the_last_completed_checkpoint(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.rule(AlertKind.FAILURES, count=3)
    scenario.send_events(
        run, failure(1), recovered(2), failure(2), recovered(3), triggered(1, generation=3), completed(1, generation=3)
    )
    scenario.send_events(
        run, failure(3), recovered(4), failure(4), recovered(5), RunStateChanged(DriverState.RUNNING, Generation(5))
    )
    scenario.evaluate()
    assert scenario.alerts() == [], "no alert fires, because only two failures happened since checkpoint 1"
    with scenario.database.session() as session:
        assert mark_driver_lost(session, run.job_id, run.id, "killed")
    scenario.evaluate()
    [alert] = scenario.alerts()
    assert "3 times without completing a checkpoint" in alert.message
    second = new_run(scenario.database, run.job_id)
    with scenario.database.session() as session:
        session.execute(update(Run).where(Run.id == second.id).values(cause="restart"))
    scenario.send_events(second, RUN_STARTED)
    scenario.evaluate()
    assert scenario.states() == ["FIRING"], "a running job without a checkpoint keeps the alert firing"
    scenario.send_events(second, triggered(2, generation=6), completed(2, generation=6))
    scenario.evaluate()
    assert scenario.states() == ["RESOLVED"]


def test_a_start_by_a_user_resets_the_count_of_failures(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.rule(AlertKind.FAILURES, count=1)
    with scenario.database.session() as session:
        assert mark_driver_lost(session, run.job_id, run.id, "killed")
    scenario.evaluate()
    assert scenario.states() == ["FIRING"]
    new_run(scenario.database, run.job_id)  # a user has started this run
    scenario.evaluate()
    assert scenario.states() == ["RESOLVED"]


def test_an_alert_fires_when_weir_stops_restarting_a_job_and_resolves_when_a_user_starts_the_job(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.rule(AlertKind.FAILURES, count=3)
    for restarts_stopped_reason in ("no such column", None):
        with scenario.database.session() as session:
            session.execute(update(Job).where(Job.id == run.job_id).values(restarts_stopped_reason=restarts_stopped_reason))
        scenario.evaluate()
    assert [(one.message, one.state.value) for one in scenario.alerts()] == [
        ("Weir does not restart the job: no such column", "RESOLVED")
    ]


def test_an_alert_about_failures_counts_failed_checkpoints_since_the_last_completed_checkpoint(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.rule(AlertKind.FAILURES, count=3)
    scenario.send_events(run, *(triggered(number) for number in (1, 2, 3, 4)), CheckpointFailed(CheckpointId(1), "too slow"))
    scenario.send_events(
        run, completed(2), CheckpointFailed(CheckpointId(3), "too slow"), CheckpointFailed(CheckpointId(4), "too slow")
    )
    scenario.evaluate()
    assert scenario.alerts() == []
    scenario.send_events(run, triggered(5), CheckpointFailed(CheckpointId(5), "too slow"))
    scenario.evaluate()
    assert [one.message for one in scenario.alerts()] == ["3 checkpoints in a row have failed"]


def test_an_alert_about_restarts_fires_and_resolves(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.rule(AlertKind.RESTARTS, count=3, minutes=10)
    for number, minutes in enumerate((25, 5, 1), start=1):
        scenario.send_events(run, failure(number), recovered(number + 1), at=scenario.began - minutes * MINUTE)
    scenario.evaluate()
    assert scenario.alerts() == [], "one of the restarts was more than 10 min ago"
    scenario.send_events(run, failure(4), recovered(5), at=scenario.began)
    scenario.evaluate()
    assert [one.message for one in scenario.alerts()] == ["the job was restarted 3 times within 10 min"]
    scenario.evaluate(6 * MINUTE)
    assert scenario.states() == ["FIRING"], "with two restarts in the last 10 min, the alert keeps firing"
    scenario.evaluate(9.5 * MINUTE)
    assert scenario.states() == ["RESOLVED"]


def gauges(slot: int = 0, **lags: float) -> MetricsSampled:
    """Return a metrics sample with these gauges. ``a__lag_records`` is the gauge ``lag_records`` of source ``a``."""
    values: dict[str, JsonValue] = {name.replace("__", "."): value for name, value in lags.items()}
    return MetricsSampled(SlotMetrics(Generation(1), SlotIndex(slot), 1, 1, (), values))


def test_an_alert_about_lag_fires_if_the_lag_of_all_slots_together_exceeds_the_limit_now_and_a_minute_ago(
    scenario: AlertScenario,
) -> None:
    run, second_run = scenario.running(), scenario.running()
    scenario.rule(AlertKind.LAG, records=1_000)
    scenario.rule(AlertKind.LAG, seconds=60, source="b")
    for ago_s in (70, 5):
        at = scenario.began - timedelta(seconds=ago_s)
        scenario.send_events(run, gauges(a__lag_records=600, b__lag_seconds=61, a__keys=10**9), at=at)
        scenario.send_events(run, gauges(slot=1, a__lag_records=600, b__lag_seconds=10), at=at)
        scenario.send_events(second_run, gauges(a__lag_records=999, odd=10**9, b__lag_records=2), at=at)
    scenario.evaluate()
    assert sorted(one.message for one in scenario.alerts()) == [
        "source a is 1,200 records behind, more than 1,000",
        "source b is 61 seconds behind, more than 60",
    ]
    scenario.evaluate(5 * MINUTE)
    assert scenario.states() == ["FIRING", "FIRING"], "without samples the lag is unknown, so the alerts keep firing"
    later = scenario.began + 5 * MINUTE
    scenario.send_events(run, gauges(a__lag_records=700), gauges(slot=1), at=later)
    scenario.evaluate(5 * MINUTE)
    assert scenario.states() == ["RESOLVED", "RESOLVED"]


def test_an_alert_about_a_bottleneck_fires_while_its_checkpoints_are_slow(scenario: AlertScenario) -> None:
    run, healthy = scenario.running(), scenario.running()
    scenario.rule(AlertKind.HEALTH, reason="bottleneck")
    for reported, at in SLOW.events(scenario.began):
        scenario.send_events(run, reported, at=at)
        scenario.send_events(healthy, reported, at=at)
    scenario.send_events(run, triggered(1), replace(completed(1), end_to_end_ms=52_600))
    scenario.send_events(healthy, triggered(1), completed(1))
    scenario.evaluate()
    [alert] = scenario.alerts()
    assert (alert.job_id, alert.message) == (
        run.job_id,
        "slow is the bottleneck: busy 100 % for 4 min, and its input is backpressured; checkpoints are late",
    )
    scenario.evaluate(5 * MINUTE)
    assert scenario.states() == ["RESOLVED"], "the slots no longer report"


# ---- outages of the control plane --------------------------------------------------------------


def test_an_outage_of_the_control_plane_neither_fires_nor_resolves_an_alert(scenario: AlertScenario) -> None:
    healthy, stuck = scenario.running(), scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scenario.send_events(healthy, triggered(1), completed(1))
    with scenario.database.session() as session:
        session.execute(
            update(Run).where(Run.job_id == stuck.job_id).values(created_at=scenario.began - 11 * MINUTE, running_at=None)
        )
    scenario.evaluate()
    assert [one.job_id for one in scenario.alerts()] == [stuck.job_id]

    scenario.record_heartbeats(seen=scenario.began + 2 * MINUTE)  # the control plane is down for half an hour
    scenario.evaluate(30 * MINUTE)
    assert scenario.states() == ["FIRING"], "events that are late because of an outage cause no alert"
    scenario.record_heartbeats(since=scenario.began + 30 * MINUTE)
    scenario.evaluate(39 * MINUTE)
    assert scenario.states() == ["FIRING"], "after the outage, the rule waits until drivers can report"
    scenario.evaluate(41 * MINUTE)
    assert [one.job_id for one in scenario.alerts()] == [stuck.job_id, healthy.job_id], (
        "an alert fires for the healthy job, because its checkpoints have stopped"
    )


def test_an_evaluation_records_a_heartbeat(scenario: AlertScenario) -> None:
    """The next evaluation by a worker ends an outage of the workers. After an outage, a rule waits for its full time before it fires."""
    scenario.record_heartbeats(since=scenario.began - 60 * MINUTE, seen=scenario.began - 30 * MINUTE)
    scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)

    def evaluate_for(minutes: int, *, api: bool) -> None:
        for seconds in range(0, 60 * minutes, 15):
            moment = timedelta(seconds=seconds)
            if api:
                with scenario.database.session() as session:
                    heartbeats.record_heartbeat(session, heartbeats.Component.API, scenario.began + moment)
            scenario.evaluate(moment)

    evaluate_for(20, api=False)
    assert scenario.alerts() == [], "no alert fires, because events cannot arrive while the API is down"
    evaluate_for(10, api=True)
    assert scenario.alerts() == []
    evaluate_for(11, api=True)
    assert scenario.states() == ["FIRING"]


# ---- rules that change -------------------------------------------------------------------------


def test_disabling_or_changing_a_rule_resolves_its_alerts(scenario: AlertScenario) -> None:
    scenario.running()
    off, changed = (scenario.rule(AlertKind.NO_CHECKPOINT, minutes=minutes) for minutes in (10, 11))
    scenario.evaluate(12 * MINUTE)
    with scenario.database.session() as session:
        session.get_one(AlertRule, off).enabled = False
        session.get_one(AlertRule, changed).parameters = {"minutes": 60}
    scenario.evaluate(13 * MINUTE)
    assert [(one.state.value, one.resolution) for one in scenario.alerts()] == [
        ("RESOLVED", "its rule is disabled"), ("RESOLVED", "the job was started"),
    ]  # fmt: skip


def test_the_alerts_of_a_deleted_rule_are_resolved_and_kept(scenario: AlertScenario, client: TestClient, login: Login) -> None:
    run = scenario.running()
    rule = scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scenario.webhook())
    scenario.evaluate(11 * MINUTE)
    operator = login(Role.OPERATOR)
    assert client.delete(f"/api/v1/alert-rules/{rule}", headers={**operator, "If-Match": "*"}).status_code == 204
    shown = client.get("/api/v1/alerts", params={"filter": f'{{"job_id": {run.job_id}}}'}, headers=operator).json()
    assert [(one["rule_id"], one["rule_name"], one["kind"], one["state"], one["resolution"]) for one in shown] == [
        (None, "no-checkpoint rule", "no-checkpoint", "RESOLVED", "its rule is deleted")
    ]
    assert client.get(f"/api/v1/alerts/{shown[0]['id']}", headers=operator).json() == shown[0]
    assert [one.message_kind.value for one in scenario.deliveries()] == ["FIRING", "RESOLVED"], (
        "the webhook also gets the resolution"
    )
    assert scenario.events_of(run.job_id, "AlertResolved")[0]["resolution"] == "its rule is deleted"


def test_deleting_a_job_resolves_its_alerts(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scenario.evaluate(11 * MINUTE)
    with scenario.database.session() as session:
        session.execute(update(Job).where(Job.id == run.job_id).values(deleted_at=now()))
    scenario.evaluate(12 * MINUTE)
    assert [one.resolution for one in scenario.alerts()] == ["the job is deleted"]


def test_no_delivery_is_created_for_a_disabled_webhook(scenario: AlertScenario) -> None:
    scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scenario.webhook(enabled=False))
    scenario.evaluate(11 * MINUTE)
    assert scenario.states() == ["FIRING"] and scenario.deliveries() == [] and (DELIVER, ()) not in scenario.tasks.enqueued


def test_the_resolution_of_an_alert_goes_to_the_first_webhook_even_if_the_rule_has_a_new_webhook(scenario: AlertScenario) -> None:
    run, first, second = scenario.running(), scenario.webhook(name="first"), scenario.webhook(name="second")
    rule = scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=first)
    scenario.evaluate(11 * MINUTE)
    with scenario.database.session() as session:
        session.get_one(AlertRule, rule).webhook_id = second
    scenario.send_events(run, triggered(1), completed(1))
    scenario.evaluate(MINUTE)
    assert [(one.message_kind.value, one.webhook_id) for one in scenario.deliveries()] == [("FIRING", first), ("RESOLVED", first)]


def test_prometheus_metrics_contain_firing_alerts(scenario: AlertScenario, client: TestClient, login: Login) -> None:
    scenario.running("late")
    for _ in range(2):
        scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scenario.evaluate(11 * MINUTE)
    viewer = login(Role.VIEWER)
    line = 'weir_job_alerts_firing{job="late",kind="no-checkpoint",rule="no-checkpoint rule"} 2.0'
    assert line in client.get("/metrics", headers=viewer).text
    shown = client.get("/api/v1/alerts", params={"filter": '{"state": "FIRING", "kind": "no-checkpoint"}'}, headers=viewer)
    assert shown.headers["Content-Range"] == "alerts 0-1/2"
    with scenario.database.session() as session:
        session.execute(update(AlertRule).values(enabled=False))
    scenario.evaluate(12 * MINUTE)
    assert "weir_job_alerts_firing{" not in client.get("/metrics", headers=viewer).text


# ---- concurrent and interrupted evaluations ----------------------------------------------------


def test_concurrent_evaluations_create_one_alert(scenario: AlertScenario) -> None:
    jobs = [scenario.running().job_id for _ in range(20)]
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scenario.webhook())
    barrier = threading.Barrier(4)
    problems: list[BaseException] = []

    def go() -> None:
        try:
            barrier.wait()
            scenario.evaluate(11 * MINUTE)
        except BaseException as error:  # noqa: BLE001  # the assertion below reports the error
            problems.append(error)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    scenario.evaluate(11 * MINUTE)  # evaluate the jobs that another evaluation had locked
    assert sorted(one.job_id for one in scenario.alerts()) == jobs
    assert len(scenario.deliveries()) == 20 and all(len(scenario.events_of(job_id, "AlertFired")) == 1 for job_id in jobs)


def test_a_locked_job_is_evaluated_in_the_next_round(scenario: AlertScenario) -> None:
    locked, unlocked = scenario.running(), scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    with scenario.database.session() as session:
        session.execute(select(Job.id).where(Job.id == locked.job_id).with_for_update())
        scenario.evaluate(11 * MINUTE)
        assert [one.job_id for one in scenario.alerts()] == [unlocked.job_id]
    scenario.evaluate(11 * MINUTE)
    assert [one.job_id for one in scenario.alerts()] == [unlocked.job_id, locked.job_id]


def test_an_interrupted_evaluation_leaves_no_partial_alert(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scenario.webhook())
    moment = scenario.began + 11 * MINUTE
    with scenario.database.session() as session:
        found = evaluation.find_changed_jobs(session, moment)
    assert found == [run.job_id]
    made = _statements(scenario, lambda: _apply_changes(scenario, found))
    assert len(made) > 5
    # Interrupt the evaluation before each of its statements.
    for cut in range(len(made)):
        with scenario.database.session() as session:
            for table in ("deliveries", "alerts", "events"):
                session.connection().exec_driver_sql(f"DELETE FROM {table}")
        with pytest.raises(_Interrupted), _interrupted_after(scenario.database, cut):
            _apply_changes(scenario, found)
        assert scenario.alerts() == [] and scenario.deliveries() == [] and scenario.events_of(run.job_id, "AlertFired") == []
    _apply_changes(scenario, found)
    assert len(scenario.alerts()) == len(scenario.deliveries()) == len(scenario.events_of(run.job_id, "AlertFired")) == 1


class _Interrupted(Exception):
    pass


def _apply_changes(scenario: AlertScenario, jobs: list[int]) -> None:
    with scenario.database.session() as session:
        evaluation.apply_changes(session, scenario.tasks, scenario.began + 11 * MINUTE, jobs)


@contextmanager
def _interrupted_after(database: Database, statements: int) -> Iterator[None]:
    left = [statements]

    def cut(*_: object) -> None:
        if left[0] == 0:
            raise _Interrupted
        left[0] -= 1

    event.listen(database.engine, "before_cursor_execute", cut)
    try:
        yield
    finally:
        event.remove(database.engine, "before_cursor_execute", cut)


def _statements(scenario: AlertScenario, call: object) -> list[str]:
    assert callable(call)
    made: list[str] = []

    def record(connection: object, cursor: object, statement: str, *_: object) -> None:
        made.append(statement)

    event.listen(scenario.database.engine, "before_cursor_execute", record)
    try:
        call()
    finally:
        event.remove(scenario.database.engine, "before_cursor_execute", record)
    return made


def test_the_number_of_queries_does_not_depend_on_the_number_of_jobs(scenario: AlertScenario) -> None:
    for kind, parameters in (
        (AlertKind.NO_CHECKPOINT, {"minutes": 10}), (AlertKind.FAILURES, {"count": 3}),
        (AlertKind.RESTARTS, {"count": 3, "minutes": 10}), (AlertKind.LAG, {"records": 10}),
    ):  # fmt: skip
        for _ in range(6):
            scenario.rule(kind, **parameters)
    scenario.running()
    query_count = len(_statements(scenario, scenario.evaluate))
    for _ in range(30):
        run = scenario.running()
        scenario.send_events(run, triggered(1), completed(1), failure(1), recovered(2), gauges(in__lag_records=1))
    assert len(_statements(scenario, scenario.evaluate)) == query_count <= 10
    assert scenario.alerts() == []


def test_the_facts_of_a_job_are_loaded_from_its_events(scenario: AlertScenario) -> None:
    run = scenario.running()
    scenario.send_events(
        run, triggered(1), completed(1), triggered(2), CheckpointFailed(CheckpointId(2), "no"), failure(1), recovered(2)
    )
    with scenario.database.session() as session:
        [found] = facts.load_facts(session, now(), jobs=[run.job_id]).values()
    assert (found.run_state, found.checkpoint, found.failures, found.failed_checkpoints, len(found.restarts)) == (
        RunState.RUNNING, 1, 1, 1, 1,
    )  # fmt: skip
    assert found.interval_s == 10.0 and found.reset_after_s == 300.0
    assert found.begun_at is not None and found.checkpoint_reported_at is not None and found.last_failure_at is not None
    assert scenario.began - MINUTE < found.begun_at <= found.checkpoint_reported_at <= now()


def test_a_minimum_pause_that_exceeds_the_checkpoint_interval_counts_as_the_interval(scenario: AlertScenario) -> None:
    run = scenario.running()
    for chosen, expected_s in (
        ({"min_pause": "1h"}, 3_600),
        ({"min_pause": "1s"}, 10),
        ({"interval": "none", "min_pause": "1h"}, None),
    ):
        with scenario.database.session() as session:
            spec = session.scalars(select(Spec).where(Spec.job_id == run.job_id)).one()
            spec.body = spec.body | {"checkpointing": {"interval": "10s"} | chosen}
        with scenario.database.session() as session:
            [found] = facts.load_facts(session, now(), jobs=[run.job_id]).values()
        assert found.interval_s == expected_s


@pytest.mark.parametrize(("interval", "seconds"), [("500ms", 0.5), ("10s", 10), ("1.5m", 90), ("2h", 7_200), ("none", None)])
def test_intervals_of_specs_are_parsed(interval: str, seconds: float | None) -> None:
    assert interval_s(interval) == seconds
