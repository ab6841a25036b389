"""Rounds over a real database: what is known of jobs, what is opened and ended, and that it is safe to do so twice, at once or never."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, select, update
from tests.backend.alerts.scene import RUNS, Scene
from tests.backend.conftest import Login
from tests.backend.jobs import completed, end_run, new_job, new_run, triggered

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
def scene(database: Database, settings: Settings) -> Scene:
    return Scene(database, settings)


def wanted(scene: Scene, job_id: int, desired: DesiredState) -> None:
    with scene.database.session() as session:
        session.execute(update(Job).where(Job.id == job_id).values(desired_state=desired))


# ---- opening and ending ------------------------------------------------------------------------


def test_an_alert_begins_when_checkpoints_stop_and_is_over_with_the_next_one(scene: Scene) -> None:
    run, hook = scene.running(), scene.webhook()
    rule = scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=hook)
    scene.send_events(run, triggered(1), completed(1))
    scene.round(9 * MINUTE)
    assert scene.alerts() == []
    scene.tasks.enqueued.clear()
    for _ in range(3):
        scene.round(11 * MINUTE)
    [alert] = scene.alerts()
    assert (alert.rule_id, alert.job_id, alert.state.value, alert.resolved_at) == (rule, run.job_id, "FIRING", None)
    assert alert.since == scene.began + 11 * MINUTE and "the last one was 1" in alert.message
    [told] = scene.events_of(run.job_id, "AlertFired")
    assert told == {"alert": alert.id, "rule": alert.rule_name, "rule_kind": "no-checkpoint", "message": alert.message}
    [message] = scene.deliveries()
    assert (message.alert_id, message.webhook_id, message.message_kind.value, message.state.value) == (
        alert.id,
        hook,
        "FIRING",
        "PENDING",
    )
    assert scene.tasks.enqueued == [(DELIVER, ())]

    scene.send_events(run, triggered(2), completed(2))
    for _ in range(2):
        scene.round(MINUTE)
    [alert] = scene.alerts()
    assert (alert.state.value, alert.resolved_at, alert.resolution) == (
        "RESOLVED", scene.began + MINUTE, "checkpoint 2 is completed",
    )  # fmt: skip
    assert [one.message_kind.value for one in scene.deliveries()] == ["FIRING", "RESOLVED"]
    assert len(scene.events_of(run.job_id, "AlertResolved")) == 1

    scene.round(20 * MINUTE)
    assert scene.states() == ["RESOLVED", "FIRING"], "and it may come again"


@pytest.mark.parametrize("desired", [DesiredState.SUSPENDED, DesiredState.CANCELLED])
def test_a_job_that_is_stopped_has_no_alert_and_a_firing_one_is_over(scene: Scene, desired: DesiredState) -> None:
    run, other = scene.running(), scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    wanted(scene, other.job_id, desired)
    scene.round(11 * MINUTE)
    assert [one.job_id for one in scene.alerts()] == [run.job_id]
    wanted(scene, run.job_id, desired)
    scene.round(12 * MINUTE)
    assert scene.alerts()[0].resolution == "the job was suspended or cancelled"


def test_a_job_that_has_finished_has_none(scene: Scene) -> None:
    run = scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scene.send_events(run, RunStateChanged(DriverState.FINISHED, Generation(1)))
    scene.round(60 * MINUTE)
    assert scene.alerts() == []


def test_a_job_that_has_not_begun_has_none_and_one_that_does_not_come_up_has(scene: Scene) -> None:
    new_job(scene.database)
    coming_up = new_run(scene.database)
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scene.round(9 * MINUTE)
    assert scene.alerts() == []
    scene.round(11 * MINUTE)
    assert [one.job_id for one in scene.alerts()] == [coming_up.job_id]


def test_restarts_after_failures_do_not_begin_anew_and_a_start_by_a_person_does(scene: Scene) -> None:
    rule = scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    jobs = []
    for cause in ("restart", "start"):
        first = scene.running()
        end_run(scene.database, first)
        second = new_run(scene.database, first.job_id)
        scene.send_events(second, RUNS)
        with scene.database.session() as session:
            session.execute(update(Run).where(Run.id == second.id).values(cause=cause))
            session.execute(
                update(Run)
                .where(Run.id == first.id)
                .values(created_at=scene.began - 8 * MINUTE, running_at=scene.began - 8 * MINUTE)
            )
        jobs.append(first.job_id)
    scene.round(3 * MINUTE)
    assert [(one.rule_id, one.job_id) for one in scene.alerts()] == [(rule, jobs[0])]


def test_a_job_without_checkpoints_of_its_own_or_with_rare_ones_is_not_late(scene: Scene) -> None:
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    for interval in ("none", "1h", "10s"):
        run = scene.running(interval)
        with scene.database.session() as session:
            session.execute(update(Spec).where(Spec.job_id == run.job_id).values(body={"checkpointing": {"interval": interval}}))
    with scene.database.session() as session:
        names = {job.id: job.name for job in session.scalars(select(Job))}
    scene.round(30 * MINUTE)
    assert [names[one.job_id] for one in scene.alerts()] == ["10s"]
    scene.round(121 * MINUTE)
    assert [names[one.job_id] for one in scene.alerts()] == ["10s", "1h"]


def test_a_rule_of_one_job_is_held_against_that_one_only(scene: Scene) -> None:
    one, _ = scene.running(), scene.running()
    rule = scene.rule(AlertKind.NO_CHECKPOINT, minutes=1, job_id=one.job_id)
    scene.round(5 * MINUTE)
    assert [(alert.rule_id, alert.job_id) for alert in scene.alerts()] == [(rule, one.job_id)]


def test_a_driver_whose_clock_is_wrong_is_judged_by_ours(scene: Scene) -> None:
    ahead, behind = scene.running(), scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scene.send_events(ahead, triggered(1), completed(1), at=now() + timedelta(days=400))
    scene.send_events(behind, triggered(1), completed(1), at=now() - timedelta(days=400))
    scene.round(9 * MINUTE)
    assert scene.alerts() == []
    scene.round(11 * MINUTE)
    assert len(scene.alerts()) == 2


# ---- failures, restarts, lag -------------------------------------------------------------------


def failure(generation: int) -> FailureOccurred:
    return FailureOccurred(Generation(generation), "a slot is gone")


def recovered(generation: int) -> Recovered:
    return Recovered(Generation(generation), "", 1_000)


def test_failures_count_from_the_last_completed_checkpoint_on(scene: Scene) -> None:
    run = scene.running()
    scene.rule(AlertKind.FAILURES, count=3)
    scene.send_events(
        run, failure(1), recovered(2), failure(2), recovered(3), triggered(1, generation=3), completed(1, generation=3)
    )
    scene.send_events(
        run, failure(3), recovered(4), failure(4), recovered(5), RunStateChanged(DriverState.RUNNING, Generation(5))
    )
    scene.round()
    assert scene.alerts() == [], "two since checkpoint 1"
    with scene.database.session() as session:
        assert mark_driver_lost(session, run.job_id, run.id, "killed")
    scene.round()
    [alert] = scene.alerts()
    assert "3 times in a row" in alert.message
    second = new_run(scene.database, run.job_id)
    with scene.database.session() as session:
        session.execute(update(Run).where(Run.id == second.id).values(cause="restart"))
    scene.send_events(second, RUNS)
    scene.round()
    assert scene.states() == ["FIRING"], "that it runs does not say that it gets anywhere"
    scene.send_events(second, triggered(2, generation=6), completed(2, generation=6))
    scene.round()
    assert scene.states() == ["RESOLVED"]


def test_whoever_starts_a_job_again_begins_the_counting_anew(scene: Scene) -> None:
    run = scene.running()
    scene.rule(AlertKind.FAILURES, count=1)
    with scene.database.session() as session:
        assert mark_driver_lost(session, run.job_id, run.id, "killed")
    scene.round()
    assert scene.states() == ["FIRING"]
    new_run(scene.database, run.job_id)  # its cause is no restart
    scene.round()
    assert scene.states() == ["RESOLVED"]


def test_a_job_that_was_given_up_is_told_of_and_its_start_by_a_person_ends_that(scene: Scene) -> None:
    run = scene.running()
    scene.rule(AlertKind.FAILURES, count=3)
    for restarts_stopped_reason in ("no such column", None):
        with scene.database.session() as session:
            session.execute(update(Job).where(Job.id == run.job_id).values(restarts_stopped_reason=restarts_stopped_reason))
        scene.round()
    assert [(one.message, one.state.value) for one in scene.alerts()] == [
        ("Weir does not restart the job: no such column", "RESOLVED")
    ]


def test_failed_checkpoints_in_a_row_are_failures_too(scene: Scene) -> None:
    run = scene.running()
    scene.rule(AlertKind.FAILURES, count=3)
    scene.send_events(run, *(triggered(number) for number in (1, 2, 3, 4)), CheckpointFailed(CheckpointId(1), "too slow"))
    scene.send_events(
        run, completed(2), CheckpointFailed(CheckpointId(3), "too slow"), CheckpointFailed(CheckpointId(4), "too slow")
    )
    scene.round()
    assert scene.alerts() == []
    scene.send_events(run, triggered(5), CheckpointFailed(CheckpointId(5), "too slow"))
    scene.round()
    assert [one.message for one in scene.alerts()] == ["3 checkpoints in a row have failed"]


def test_a_storm_of_restarts_is_told_of_and_calms_down(scene: Scene) -> None:
    run = scene.running()
    scene.rule(AlertKind.RESTARTS, count=3, minutes=10)
    for number, minutes in enumerate((25, 5, 1), start=1):
        scene.send_events(run, failure(number), recovered(number + 1), at=scene.began - minutes * MINUTE)
    scene.round()
    assert scene.alerts() == [], "one of them is long ago"
    scene.send_events(run, failure(4), recovered(5), at=scene.began)
    scene.round()
    assert [one.message for one in scene.alerts()] == ["the job was restarted 3 times within 10 min"]
    scene.round(6 * MINUTE)
    assert scene.states() == ["FIRING"], "two are left"
    scene.round(9.5 * MINUTE)
    assert scene.states() == ["RESOLVED"]


def gauges(slot: int = 0, **of_sources: float) -> MetricsSampled:
    """``a__lag_records``: of source ``a``."""
    told: dict[str, JsonValue] = {name.replace("__", "."): value for name, value in of_sources.items()}
    return MetricsSampled(SlotMetrics(Generation(1), SlotIndex(slot), 1, 1, (), told))


def test_lag_is_that_of_all_slots_of_a_source_now_and_a_minute_ago(scene: Scene) -> None:
    run, quiet = scene.running(), scene.running()
    scene.rule(AlertKind.LAG, records=1_000)
    scene.rule(AlertKind.LAG, seconds=60, source="b")
    for ago_s in (70, 5):
        at = scene.began - timedelta(seconds=ago_s)
        scene.send_events(run, gauges(a__lag_records=600, b__lag_seconds=61, a__keys=10**9), at=at)
        scene.send_events(run, gauges(slot=1, a__lag_records=600, b__lag_seconds=10), at=at)
        scene.send_events(quiet, gauges(a__lag_records=999, odd=10**9, b__lag_records=2), at=at)
    scene.round()
    assert sorted(one.message for one in scene.alerts()) == [
        "source a is 1,200 records behind, more than 1,000",
        "source b is 61 seconds behind, more than 60",
    ]
    scene.round(5 * MINUTE)
    assert scene.states() == ["FIRING", "FIRING"], "nothing is told any more: nothing is known"
    later = scene.began + 5 * MINUTE
    scene.send_events(run, gauges(a__lag_records=700), gauges(slot=1), at=later)
    scene.round(5 * MINUTE)
    assert scene.states() == ["RESOLVED", "RESOLVED"]


# ---- the control plane's own absence -----------------------------------------------------------


def test_an_outage_of_the_control_plane_raises_no_alert_and_ends_none(scene: Scene) -> None:
    fine, stuck = scene.running(), scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scene.send_events(fine, triggered(1), completed(1))
    with scene.database.session() as session:
        session.execute(
            update(Run).where(Run.job_id == stuck.job_id).values(created_at=scene.began - 11 * MINUTE, running_at=None)
        )
    scene.round()
    assert [one.job_id for one in scene.alerts()] == [stuck.job_id]

    scene.there(seen=scene.began + 2 * MINUTE)  # and it comes back after half an hour
    scene.round(30 * MINUTE)
    assert scene.states() == ["FIRING"], "nobody could tell anything meanwhile"
    scene.there(since=scene.began + 30 * MINUTE)
    scene.round(39 * MINUTE)
    assert scene.states() == ["FIRING"], "drivers have their time to tell"
    scene.round(41 * MINUTE)
    assert [one.job_id for one in scene.alerts()] == [stuck.job_id, fine.job_id], "now it is the job's own matter"


def test_a_round_says_that_it_is_there(scene: Scene) -> None:
    """So an outage of the workers ends with their first round, and from then on a rule waits for its time."""
    scene.there(since=scene.began - 60 * MINUTE, seen=scene.began - 30 * MINUTE)
    scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)

    def go(minutes: int, *, api: bool) -> None:
        for seconds in range(0, 60 * minutes, 15):
            moment = timedelta(seconds=seconds)
            if api:
                with scene.database.session() as session:
                    heartbeats.record_heartbeat(session, heartbeats.Component.API, scene.began + moment)
            scene.round(moment)

    go(20, api=False)
    assert scene.alerts() == [], "without an API nobody can tell"
    go(10, api=True)
    assert scene.alerts() == []
    go(11, api=True)
    assert scene.states() == ["FIRING"]


# ---- rules that change -------------------------------------------------------------------------


def test_a_rule_that_is_switched_off_or_changed_ends_what_it_does_not_call_for_any_more(scene: Scene) -> None:
    scene.running()
    off, changed = (scene.rule(AlertKind.NO_CHECKPOINT, minutes=minutes) for minutes in (10, 11))
    scene.round(12 * MINUTE)
    with scene.database.session() as session:
        session.get_one(AlertRule, off).enabled = False
        session.get_one(AlertRule, changed).parameters = {"minutes": 60}
    scene.round(13 * MINUTE)
    assert [(one.state.value, one.resolution) for one in scene.alerts()] == [
        ("RESOLVED", "its rule is disabled"), ("RESOLVED", "the job was started"),
    ]  # fmt: skip


def test_a_rule_that_is_deleted_leaves_its_alerts_behind_which_are_over(scene: Scene, client: TestClient, login: Login) -> None:
    run = scene.running()
    rule = scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scene.webhook())
    scene.round(11 * MINUTE)
    operator = login(Role.OPERATOR)
    assert client.delete(f"/api/v1/alert-rules/{rule}", headers={**operator, "If-Match": "*"}).status_code == 204
    shown = client.get("/api/v1/alerts", params={"filter": f'{{"job_id": {run.job_id}}}'}, headers=operator).json()
    assert [(one["rule_id"], one["rule_name"], one["kind"], one["state"], one["resolution"]) for one in shown] == [
        (None, "no-checkpoint rule", "no-checkpoint", "RESOLVED", "its rule is deleted")
    ]
    assert client.get(f"/api/v1/alerts/{shown[0]['id']}", headers=operator).json() == shown[0]
    assert [one.message_kind.value for one in scene.deliveries()] == ["FIRING", "RESOLVED"], "who was told is told"
    assert scene.events_of(run.job_id, "AlertResolved")[0]["resolution"] == "its rule is deleted"


def test_alerts_of_a_job_that_is_deleted_are_over(scene: Scene) -> None:
    run = scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scene.round(11 * MINUTE)
    with scene.database.session() as session:
        session.execute(update(Job).where(Job.id == run.job_id).values(deleted_at=now()))
    scene.round(12 * MINUTE)
    assert [one.resolution for one in scene.alerts()] == ["the job is deleted"]


def test_nothing_is_written_for_a_webhook_that_is_switched_off(scene: Scene) -> None:
    scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scene.webhook(enabled=False))
    scene.round(11 * MINUTE)
    assert scene.states() == ["FIRING"] and scene.deliveries() == [] and (DELIVER, ()) not in scene.tasks.enqueued


def test_who_was_told_that_it_fires_is_told_that_it_is_over_even_if_the_rule_has_another_webhook_by_then(scene: Scene) -> None:
    run, first, second = scene.running(), scene.webhook(name="first"), scene.webhook(name="second")
    rule = scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=first)
    scene.round(11 * MINUTE)
    with scene.database.session() as session:
        session.get_one(AlertRule, rule).webhook_id = second
    scene.send_events(run, triggered(1), completed(1))
    scene.round(MINUTE)
    assert [(one.message_kind.value, one.webhook_id) for one in scene.deliveries()] == [("FIRING", first), ("RESOLVED", first)]


def test_prometheus_sees_what_fires(scene: Scene, client: TestClient, login: Login) -> None:
    scene.running("late")
    for _ in range(2):
        scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    scene.round(11 * MINUTE)
    viewer = login(Role.VIEWER)
    line = 'weir_job_alerts_firing{job="late",kind="no-checkpoint",rule="no-checkpoint rule"} 2.0'
    assert line in client.get("/metrics", headers=viewer).text
    shown = client.get("/api/v1/alerts", params={"filter": '{"state": "FIRING", "kind": "no-checkpoint"}'}, headers=viewer)
    assert shown.headers["Content-Range"] == "alerts 0-1/2"
    with scene.database.session() as session:
        session.execute(update(AlertRule).values(enabled=False))
    scene.round(12 * MINUTE)
    assert "weir_job_alerts_firing{" not in client.get("/metrics", headers=viewer).text


# ---- at once, twice, cut off -------------------------------------------------------------------


def test_rounds_at_the_same_time_open_one_alert(scene: Scene) -> None:
    jobs = [scene.running().job_id for _ in range(20)]
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scene.webhook())
    together = threading.Barrier(4)
    problems: list[BaseException] = []

    def go() -> None:
        try:
            together.wait()
            scene.round(11 * MINUTE)
        except BaseException as error:  # noqa: BLE001  # told by the test, not by the thread
            problems.append(error)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    scene.round(11 * MINUTE)  # those that were locked by one while another looked
    assert sorted(one.job_id for one in scene.alerts()) == jobs
    assert len(scene.deliveries()) == 20 and all(len(scene.events_of(job_id, "AlertFired")) == 1 for job_id in jobs)


def test_a_job_that_somebody_holds_is_left_for_the_next_round(scene: Scene) -> None:
    held, free = scene.running(), scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10)
    with scene.database.session() as session:
        session.execute(select(Job.id).where(Job.id == held.job_id).with_for_update())
        scene.round(11 * MINUTE)
        assert [one.job_id for one in scene.alerts()] == [free.job_id]
    scene.round(11 * MINUTE)
    assert [one.job_id for one in scene.alerts()] == [free.job_id, held.job_id]


def test_a_round_that_is_cut_off_leaves_an_alert_whole_or_not_at_all(scene: Scene) -> None:
    run = scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scene.webhook())
    moment = scene.began + 11 * MINUTE
    with scene.database.session() as session:
        found = evaluation.find_changed_jobs(session, moment)
    assert found == [run.job_id]
    made = _statements(scene, lambda: _carry_out(scene, found))
    assert len(made) > 5
    # Each statement of it in turn is the last one that is reached.
    for cut in range(len(made)):
        with scene.database.session() as session:
            for table in ("deliveries", "alerts", "events"):
                session.connection().exec_driver_sql(f"DELETE FROM {table}")
        with pytest.raises(_Cut), _cut_after(scene.database, cut):
            _carry_out(scene, found)
        assert scene.alerts() == [] and scene.deliveries() == [] and scene.events_of(run.job_id, "AlertFired") == []
    _carry_out(scene, found)
    assert len(scene.alerts()) == len(scene.deliveries()) == len(scene.events_of(run.job_id, "AlertFired")) == 1


class _Cut(Exception):
    pass


def _carry_out(scene: Scene, jobs: list[int]) -> None:
    with scene.database.session() as session:
        evaluation.apply_changes(session, scene.tasks, scene.began + 11 * MINUTE, jobs)


@contextmanager
def _cut_after(database: Database, statements: int) -> Iterator[None]:
    left = [statements]

    def cut(*_: object) -> None:
        if left[0] == 0:
            raise _Cut
        left[0] -= 1

    event.listen(database.engine, "before_cursor_execute", cut)
    try:
        yield
    finally:
        event.remove(database.engine, "before_cursor_execute", cut)


def _statements(scene: Scene, act: object) -> list[str]:
    assert callable(act)
    made: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        made.append(statement)

    event.listen(scene.database.engine, "before_cursor_execute", note)
    try:
        act()
    finally:
        event.remove(scene.database.engine, "before_cursor_execute", note)
    return made


def test_a_round_is_a_few_queries_however_many_jobs_and_rules_there_are(scene: Scene) -> None:
    for kind, parameters in (
        (AlertKind.NO_CHECKPOINT, {"minutes": 10}), (AlertKind.FAILURES, {"count": 3}),
        (AlertKind.RESTARTS, {"count": 3, "minutes": 10}), (AlertKind.LAG, {"records": 10}),
    ):  # fmt: skip
        for _ in range(6):
            scene.rule(kind, **parameters)
    scene.running()
    few = len(_statements(scene, scene.round))
    for _ in range(30):
        run = scene.running()
        scene.send_events(run, triggered(1), completed(1), failure(1), recovered(2), gauges(in__lag_records=1))
    assert len(_statements(scene, scene.round)) == few <= 10
    assert scene.alerts() == []


def test_what_is_known_of_a_job_is_what_was_told(scene: Scene) -> None:
    run = scene.running()
    scene.send_events(
        run, triggered(1), completed(1), triggered(2), CheckpointFailed(CheckpointId(2), "no"), failure(1), recovered(2)
    )
    with scene.database.session() as session:
        [found] = facts.load_facts(session, now(), jobs=[run.job_id]).values()
    assert (found.run_state, found.checkpoint, found.failures, found.failed_checkpoints, len(found.restarts)) == (
        RunState.RUNNING, 1, 1, 1, 1,
    )  # fmt: skip
    assert found.interval_s == 10.0 and found.reset_after_s == 300.0
    assert found.begun_at is not None and found.checkpoint_reported_at is not None and found.last_failure_at is not None
    assert scene.began - MINUTE < found.begun_at <= found.checkpoint_reported_at <= now()


def test_a_job_that_pauses_longer_than_its_interval_is_not_late_after_two_intervals(scene: Scene) -> None:
    run = scene.running()
    for chosen, min_distance_s in (
        ({"min_pause": "1h"}, 3_600),
        ({"min_pause": "1s"}, 10),
        ({"interval": "none", "min_pause": "1h"}, None),
    ):
        with scene.database.session() as session:
            spec = session.scalars(select(Spec).where(Spec.job_id == run.job_id)).one()
            spec.body = spec.body | {"checkpointing": {"interval": "10s"} | chosen}
        with scene.database.session() as session:
            [found] = facts.load_facts(session, now(), jobs=[run.job_id]).values()
        assert found.interval_s == min_distance_s


@pytest.mark.parametrize(("interval", "seconds"), [("500ms", 0.5), ("10s", 10), ("1.5m", 90), ("2h", 7_200), ("none", None)])
def test_intervals_are_read_as_specs_write_them(interval: str, seconds: float | None) -> None:
    assert interval_s(interval) == seconds
