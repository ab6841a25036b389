"""Messages about operations and plans, and messages in the formats of other products, delivered to a real receiver on this host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from pydantic import AnyHttpUrl
from tests.backend.alerts.alert_scenario import AlertScenario
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform
from tests.backend.jobs import completed, triggered
from tests.backend.webhooks.receiver import Receiver, receiver
from tests.backend.webhooks.test_delivering import MINUTE, deliver

from weir.protocol.events import DriverState
from weir_backend.kit.database import Database
from weir_backend.models import AlertKind, Job, Operation, OperationState, Role, WebhookFormat
from weir_backend.operations.lifecycle import OperationOutcome
from weir_backend.operations.service import end_and_record
from weir_backend.settings import Settings

ROUTING_KEY = "0123456789abcdef0123456789abcdef"
ROLLBACK = {"request": {"kind": "rollback", "checkpoint": 1}}
ALL = ["alerts", "operations", "plans"]


@pytest.fixture
def target() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"public_url": AnyHttpUrl("https://weir.example.com/")})


@pytest.fixture
def scenario(database: Database, settings: Settings, tasks: RecordedTasks) -> AlertScenario:
    return AlertScenario(database, settings, tasks=tasks)


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR, name="anna", rollback=True))


def fail_operation(platform: Platform, job_id: int, operation_id: int, problem: str) -> None:
    with platform.database.session() as session:
        job, operation = session.get_one(Job, job_id), session.get_one(Operation, operation_id)
        end_and_record(session, job, operation, OperationOutcome(OperationState.FAILED, problem=problem))


def test_the_outcome_of_an_operation_is_sent_to_the_webhooks_that_receive_operations(
    scenario: AlertScenario, platform: Platform, target: Receiver
) -> None:
    scenario.webhook(target.url, "all", events=ALL)
    with receiver() as other:
        for name, more in (("alerts", {}), ("off", {"events": ALL, "enabled": False})):
            scenario.webhook(other.url, name, **more)
        job_id, driver = platform.running()
        suspend = platform.send("POST", f"/jobs/{job_id}/suspend", status=202)["id"]
        platform.reconcile(job_id)
        assert driver.commands() == ["Suspend"]
        driver.report_state(DriverState.SUSPENDED)
        deliver(scenario)
        assert other.received == []
    deploy, stopped = target.bodies()
    assert deploy["type"] == "operation.succeeded" and deploy["operation"]["kind"] == "deploy"
    assert stopped["type"] == "operation.succeeded"
    assert stopped["text"] == f"orders: operation {suspend} (suspend) succeeded"
    assert stopped["operation"]["result"]["checkpoint"] == 1 and stopped["operation"]["problem"] is None
    assert stopped["job"] == {"id": job_id, "name": "orders"}


def test_an_operation_that_the_driver_ends_and_a_failed_operation_are_sent_once(
    scenario: AlertScenario, platform: Platform, target: Receiver
) -> None:
    job_id, driver = platform.running()
    scenario.webhook(target.url, events=["operations"])
    savepoint = platform.send("POST", f"/jobs/{job_id}/savepoints", status=202)["id"]
    driver.commands()
    driver.checkpoint(2, "savepoint")
    failing = platform.send("POST", f"/jobs/{job_id}/checkpoints", status=202)["id"]
    fail_operation(platform, job_id, failing, "The disk is full.")
    platform.reconcile(job_id)
    deliver(scenario)
    deliver(scenario)
    assert [body["text"] for body in target.bodies()] == [
        f"orders: operation {savepoint} (savepoint) succeeded",
        f"orders: operation {failing} (checkpoint) failed: The disk is full.",
    ]


def test_no_message_is_sent_about_a_change_that_is_rolled_back(scenario: AlertScenario, platform: Platform) -> None:
    job_id, _ = platform.running()
    scenario.webhook(events=["operations"])
    failing = platform.send("POST", f"/jobs/{job_id}/checkpoints", status=202)["id"]
    with pytest.raises(RuntimeError, match="crash"), platform.database.session() as session:
        job, operation = session.get_one(Job, job_id), session.get_one(Operation, failing)
        end_and_record(session, job, operation, OperationOutcome(OperationState.FAILED, problem="The disk is full."))
        raise RuntimeError("crash")
    assert scenario.deliveries() == []


def test_a_superseded_operation_causes_no_message(scenario: AlertScenario, platform: Platform) -> None:
    job_id, _ = platform.running()
    scenario.webhook(events=["operations"])
    first = platform.send("POST", f"/jobs/{job_id}/suspend", status=202)["id"]
    platform.send("POST", f"/jobs/{job_id}/cancel", status=202)
    assert platform.operation(first)["state"] == "SUPERSEDED"
    assert scenario.deliveries() == []


def test_each_change_of_a_plan_is_sent_in_order(scenario: AlertScenario, platform: Platform, target: Receiver) -> None:
    job_id, driver = platform.running()
    scenario.webhook(target.url, events=["operations", "plans"])
    plan = propose(platform, job_id)
    platform.approve(plan)
    platform.send("POST", f"/plans/{plan}/apply", status=202)
    platform.reconcile(job_id)
    platform.inspect(plan)
    driver.commands()
    driver.checkpoint(2, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    platform.driver(job_id).begin()
    discarded = propose(platform, job_id)
    platform.send("POST", f"/plans/{discarded}/discard", status=200)
    deliver(scenario)
    assert [(body["type"], body["text"]) for body in target.bodies()] == [
        ("plan.proposed", f"orders: plan {plan} (rollback) proposed by anna"),
        ("plan.approved", f"orders: plan {plan} (rollback) approved by anna"),
        ("plan.applied", f"orders: plan {plan} (rollback) applied"),
        ("plan.proposed", f"orders: plan {discarded} (rollback) proposed by anna"),
        ("plan.discarded", f"orders: plan {discarded} (rollback) discarded"),
    ], "the operation that applies a plan causes no message of its own"
    assert target.bodies()[0]["plan"] == {"id": plan, "kind": "rollback", "problem": None, "by": "anna"}


def test_a_dry_run_of_a_plan_causes_no_message(scenario: AlertScenario, platform: Platform) -> None:
    job_id, _ = platform.running()
    scenario.webhook(events=["plans"])
    platform.send("POST", f"/jobs/{job_id}/plans", status=200, json={**ROLLBACK, "dry_run": True})
    assert scenario.deliveries() == []


def test_a_slack_message_links_to_the_plan(scenario: AlertScenario, platform: Platform, target: Receiver) -> None:
    job_id, _ = platform.running()
    scenario.webhook(target.url, events=["plans"], format=WebhookFormat.SLACK)
    plan = propose(platform, job_id)
    deliver(scenario)
    [message] = target.bodies()
    assert message["text"] == f"orders: plan {plan} (rollback) proposed by anna"
    link = f"<https://weir.example.com/jobs/{job_id}/recovery/{plan}|Open in Weir>"
    assert message["blocks"][-1]["text"]["text"] == link


def test_pagerduty_opens_an_incident_for_an_alert_and_resolves_it(
    scenario: AlertScenario, target: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_WEBHOOK_KEY_PD", ROUTING_KEY)
    run = scenario.running("route-delays")
    hook = scenario.webhook(target.url, format=WebhookFormat.PAGERDUTY, secret_reference="env:WEIR_WEBHOOK_KEY_PD")
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=hook)
    scenario.evaluate(11 * MINUTE)
    deliver(scenario)
    scenario.send_events(run, triggered(1), completed(1))
    scenario.evaluate(MINUTE)
    deliver(scenario)
    trigger, resolve = target.bodies()
    assert trigger["payload"]["severity"] == "critical" and trigger["payload"]["source"] == "route-delays"
    assert trigger["client_url"] == f"https://weir.example.com/jobs/{run.job_id}"
    assert resolve == {"routing_key": ROUTING_KEY, "event_action": "resolve", "dedup_key": trigger["dedup_key"]}
    assert trigger["routing_key"] == ROUTING_KEY
    assert all("webhook-signature" not in message.headers for message in target.received), "the routing key signs nothing"


def test_pagerduty_receives_only_failed_operations_and_plans(
    scenario: AlertScenario, platform: Platform, target: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_WEBHOOK_KEY_PD", ROUTING_KEY)
    reference = "env:WEIR_WEBHOOK_KEY_PD"
    scenario.webhook(target.url, format=WebhookFormat.PAGERDUTY, events=ALL, secret_reference=reference)
    job_id, _ = platform.running()
    propose(platform, job_id)
    deliver(scenario)
    assert target.received == []
    failing = platform.send("POST", f"/jobs/{job_id}/checkpoints", status=202)["id"]
    fail_operation(platform, job_id, failing, "The disk is full.")
    deliver(scenario)
    [event] = target.bodies()
    assert (event["event_action"], event["payload"]["severity"]) == ("trigger", "error")
    assert event["payload"]["summary"] == f"orders: operation {failing} (checkpoint) failed: The disk is full."


def test_no_event_is_sent_to_pagerduty_without_the_routing_key(
    scenario: AlertScenario, target: Receiver, client: TestClient, login: Login
) -> None:
    hook = scenario.webhook(target.url, format=WebhookFormat.PAGERDUTY, secret_reference="env:WEIR_WEBHOOK_KEY_MISSING")
    client.post(f"/api/v1/webhooks/{hook}/test", headers=login(Role.ADMIN))
    deliver(scenario)
    [found] = scenario.deliveries()
    assert target.received == [] and "WEIR_WEBHOOK_KEY_MISSING" in str(found.problem)


@pytest.mark.parametrize("format", WebhookFormat)
def test_a_test_message_has_the_format_of_the_webhook(
    scenario: AlertScenario,
    target: Receiver,
    client: TestClient,
    login: Login,
    format: WebhookFormat,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEIR_WEBHOOK_KEY_PD", ROUTING_KEY)
    hook = scenario.webhook(target.url, format=format, events=["plans"], secret_reference="env:WEIR_WEBHOOK_KEY_PD")
    client.post(f"/api/v1/webhooks/{hook}/test", headers=login(Role.ADMIN))
    deliver(scenario)
    [message] = target.bodies()
    field = {"weir": "type", "slack": "blocks", "teams": "attachments", "pagerduty": "event_action"}[format.value]
    assert field in message and "Weir: webhook 'ops' works" in str(message)
    assert [one.state.value for one in scenario.deliveries()] == ["DELIVERED"]
    if format is WebhookFormat.PAGERDUTY:
        assert (message["event_action"], message["payload"]["severity"]) == ("trigger", "info")


@pytest.mark.parametrize(
    ("public_url", "ui_url"),
    [
        ("https://weir.example.com", "https://weir.example.com"),
        ("https://weir.example.com/weir/", "https://weir.example.com/weir"),
        ("http://10.0.0.7:8700", "http://10.0.0.7:8700"),
        ("http://127.0.0.1:8700", None),
        ("http://localhost:8700", None),
        ("http://[::1]:8700", None),
    ],
)
def test_messages_link_to_the_web_ui_unless_its_address_is_a_loopback_address(
    settings: Settings, public_url: str, ui_url: str | None
) -> None:
    assert settings.model_copy(update={"public_url": AnyHttpUrl(public_url)}).ui_url == ui_url


def propose(platform: Platform, job_id: int) -> int:
    plan = platform.send("POST", f"/jobs/{job_id}/plans", status=201, json=ROLLBACK)
    platform.inspect(plan["id"])
    return int(plan["id"])
