"""Delivery of messages to a real receiver on this host: retries, crashes, refused addresses and TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from tests.backend.alerts.alert_scenario import AlertScenario
from tests.backend.conftest import Login
from tests.backend.jobs import completed, triggered
from tests.backend.webhooks.certificates import Certificates, certificates
from tests.backend.webhooks.receiver import Receiver, is_signed, receiver

from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.models import AlertKind, Delivery, Role, Webhook, WebhookFormat
from weir_backend.settings import Settings
from weir_backend.webhooks import outbox
from weir_backend.webhooks.addresses import Address, Reach
from weir_backend.webhooks.outbox import WebhookMessage
from weir_workers.embedded.ports import free_port
from weir_workers.tasks import webhook_delivery
from weir_workers.webhooks import signing
from weir_workers.webhooks.sender import Sender

MINUTE = timedelta(minutes=1)
KEY = "a key that is long enough"


@pytest.fixture
def scenario(database: Database, settings: Settings) -> AlertScenario:
    return AlertScenario(database, settings)


@pytest.fixture
def target() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture(scope="module")
def made() -> Certificates:
    return certificates("receiver.test")


def sender(reach: Reach = Reach.LOOPBACK, **names: str) -> Sender:
    """``names`` maps host names, with underscores instead of dots, to addresses."""

    async def resolve(host: str, port: int) -> Sequence[Address]:
        return [ip_address(only_delivery) for only_delivery in names[host.replace(".", "_")].split()]

    ssl_context = httpx2.create_ssl_context()
    return Sender(reach, ssl_context, resolve) if names else Sender(reach, ssl_context)


def deliver(scenario: AlertScenario, custom_sender: Sender | None = None) -> None:
    webhook_delivery.deliver_due(scenario.context, lambda: custom_sender or sender())


def let_time_pass(scenario: AlertScenario, by: timedelta = timedelta(days=2), *, created: bool = False) -> None:
    """Subtract ``by`` from the times of retries and, with ``created``, also from the creation times of messages. End all pauses of
    webhooks."""
    with scenario.database.session() as session:
        session.execute(update(Webhook).values(not_before=None))
        session.execute(update(Delivery).where(Delivery.ended_at.is_(None)).values(next_try_at=Delivery.next_try_at - by))
        if created:
            session.execute(update(Delivery).values(created_at=Delivery.created_at - by))


def fire(scenario: AlertScenario, hook: int, jobs: int = 1) -> list[int]:
    """Create ``jobs`` jobs, and let an alert fire for each job. Return the ids of the jobs."""
    found = [scenario.running().job_id for _ in range(jobs)]
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=hook)
    scenario.evaluate(11 * MINUTE)
    return found


def only_delivery(scenario: AlertScenario) -> Delivery:
    [found] = scenario.deliveries()
    return found


# ---- successful deliveries ---------------------------------------------------------------------


def test_an_alert_and_its_resolution_are_delivered(scenario: AlertScenario, target: Receiver) -> None:
    run = scenario.running("route-delays")
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scenario.webhook(target.url))
    scenario.evaluate(11 * MINUTE)
    deliver(scenario)
    scenario.send_events(run, triggered(1), completed(1))
    scenario.evaluate(MINUTE)
    deliver(scenario)
    deliver(scenario)
    first, second = target.received
    assert first.path == "/hooks/weir?of=tests" and first.headers["content-type"] == "application/json"
    assert first.headers["host"] == f"127.0.0.1:{target.port}" and first.headers["user-agent"] == "weir"
    [alert] = scenario.alerts()
    assert first.body == {
        "type": "alert.firing",
        "text": f"route-delays: {alert.message} (no-checkpoint rule)",
        "created_at": scenario.deliveries()[0].created_at.isoformat(),
        "alert": {
            "id": alert.id, "rule": "no-checkpoint rule", "kind": "no-checkpoint", "message": alert.message,
            "since": alert.since.isoformat(), "resolved_at": None, "resolution": None,
        },
        "job": {"id": run.job_id, "name": "route-delays"},
    }  # fmt: skip
    assert second.body["type"] == "alert.resolved" and second.body["alert"]["resolution"] == "checkpoint 1 is completed"
    assert second.body["alert"]["resolved_at"] is not None and second.body["text"].startswith("route-delays: resolved: ")
    assert [(found.state.value, found.tries, found.http_status, found.problem) for found in scenario.deliveries()] == [
        ("DELIVERED", 1, 200, None), ("DELIVERED", 1, 200, None),
    ]  # fmt: skip
    assert [message.message_id for message in target.received] == [str(found.message_id) for found in scenario.deliveries()]
    assert "webhook-signature" not in first.headers


def test_messages_are_signed_with_the_key_of_the_worker(
    scenario: AlertScenario, target: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_WEBHOOK_KEY_OPS", KEY)
    fire(scenario, scenario.webhook(target.url, secret_reference="env:WEIR_WEBHOOK_KEY_OPS"))
    deliver(scenario)
    [message] = target.received
    assert is_signed(message, KEY.encode()) and not is_signed(message, b"another key that is long enough")
    assert KEY not in message.content.decode() + str(message.headers)


def test_a_message_is_sent_only_once_its_signing_key_exists(
    scenario: AlertScenario, target: Receiver, settings: Settings
) -> None:
    fire(scenario, scenario.webhook(target.url, secret_reference="file:ops"))
    deliver(scenario)
    assert (
        target.received == []
        and "ops" in str(only_delivery(scenario).problem)
        and only_delivery(scenario).state.value == "PENDING"
    )
    directory = settings.data_dir / signing.KEYS_DIRECTORY
    directory.mkdir(parents=True)
    (directory / "ops").write_text(KEY)
    let_time_pass(scenario)
    deliver(scenario)
    assert is_signed(target.received[0], KEY.encode()) and only_delivery(scenario).state.value == "DELIVERED"


def test_a_test_delivery_reports_its_outcome(scenario: AlertScenario, target: Receiver, client: TestClient, login: Login) -> None:
    admin = login(Role.ADMIN)

    def tested(url: str) -> dict[str, object]:
        with scenario.database.session() as session:
            session.execute(update(Webhook).values(url=url, not_before=None))
        location = client.post(f"/api/v1/webhooks/{hook}/test", headers=admin).headers["Location"]
        assert client.get(location, headers=admin).json()["state"] == "PENDING"
        deliver(scenario)
        answer: dict[str, object] = client.get(location, headers=admin).json()
        return answer

    hook = scenario.webhook(target.url, enabled=False)
    delivered = tested(target.url)
    assert (delivered["state"], delivered["http_status"], delivered["problem"]) == ("DELIVERED", 200, None)
    assert target.received[0].body["type"] == "test" and "'ops' works" in target.received[0].body["text"]
    target.statuses = [404]
    rejected = tested(target.url)
    assert (rejected["state"], rejected["http_status"], rejected["tries"]) == ("FAILED", 404, 1) and rejected[
        "ended_at"
    ] is not None
    unused_port = free_port()
    unreachable = tested(f"http://127.0.0.1:{unused_port}/x?password=secret")
    assert unreachable["state"] == "FAILED" and unreachable["http_status"] is None
    assert str(unreachable["problem"]).startswith(f"cannot connect to http://127.0.0.1:{unused_port}") and "secret" not in str(
        unreachable["problem"]
    )


# ---- failures and retries ----------------------------------------------------------------------


def test_a_failed_message_is_retried_with_the_same_id_and_content(scenario: AlertScenario, target: Receiver) -> None:
    target.statuses = [500, 429, 204]
    fire(scenario, scenario.webhook(target.url))
    for tries, problem in ((1, "answers 500"), (2, "answers 429")):
        deliver(scenario)
        found = only_delivery(scenario)
        assert (found.state.value, found.tries) == ("PENDING", tries) and problem in str(found.problem)
        assert found.next_try_at > now()
        deliver(scenario)
        assert len(target.received) == tries, "the message is not retried early"
        let_time_pass(scenario)
    deliver(scenario)
    assert (
        only_delivery(scenario).state.value,
        only_delivery(scenario).tries,
        only_delivery(scenario).http_status,
        only_delivery(scenario).problem,
    ) == ("DELIVERED", 3, 204, None)
    assert (
        len({message.message_id for message in target.received}) == 1
        and len({message.content for message in target.received}) == 1
    )


def test_a_message_that_fails_for_a_day_is_reported_as_not_delivered(
    scenario: AlertScenario, target: Receiver, client: TestClient, login: Login
) -> None:
    target.statuses = [503]
    hook = scenario.webhook(target.url)
    [job_id] = fire(scenario, hook)
    deliver(scenario)
    let_time_pass(scenario, created=True)
    deliver(scenario)
    found = only_delivery(scenario)
    assert (found.state.value, found.tries, found.http_status) == ("FAILED", 2, 503) and found.ended_at is not None
    [event] = scenario.events_of(job_id, "AlertNotDelivered")
    assert event == {"alert": found.alert_id, "webhook": "ops", "message_kind": "FIRING", "problem": found.problem}
    text = client.get("/metrics", headers=login(Role.VIEWER)).text
    assert 'weir_webhook_messages{state="failed",webhook="ops"} 1.0' in text
    let_time_pass(scenario)
    deliver(scenario)
    assert len(target.received) == 2, "a delivery is not retried after its last attempt has failed"


def test_the_resolution_of_an_alert_is_not_sent_before_the_alert(scenario: AlertScenario, target: Receiver) -> None:
    target.statuses = [500, 200]
    run = scenario.running()
    scenario.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scenario.webhook(target.url))
    scenario.evaluate(11 * MINUTE)
    deliver(scenario)
    scenario.send_events(run, triggered(1), completed(1))
    scenario.evaluate(MINUTE)
    with scenario.database.session() as session:
        session.execute(update(Webhook).values(not_before=None))
    deliver(scenario)
    assert len(target.received) == 1, "the message about the resolution waits until the message about the alert is delivered"
    let_time_pass(scenario)
    deliver(scenario)
    assert [body["type"] for body in target.bodies()] == ["alert.firing", "alert.firing", "alert.resolved"]


def test_disabling_a_webhook_fails_its_pending_deliveries(
    scenario: AlertScenario, target: Receiver, client: TestClient, login: Login
) -> None:
    target.statuses = [500]
    hook = scenario.webhook(target.url)
    fire(scenario, hook)
    deliver(scenario)
    headers = {**login(Role.ADMIN), "If-Match": "*"}
    assert client.patch(f"/api/v1/webhooks/{hook}", json={"enabled": False}, headers=headers).status_code == 200
    assert (only_delivery(scenario).state.value, only_delivery(scenario).problem) == ("FAILED", "the webhook was disabled")
    let_time_pass(scenario)
    deliver(scenario)
    assert len(target.received) == 1


def test_a_failing_receiver_is_paused_and_does_not_delay_other_receivers(scenario: AlertScenario, target: Receiver) -> None:
    with receiver() as broken:
        broken.statuses = [500]
        fire(scenario, scenario.webhook(broken.url, name="broken"), jobs=5)
        fire(scenario, scenario.webhook(target.url, name="fine"))
        deliver(scenario)
        assert len(broken.received) == 1 and len(target.received) == 6
        deliver(scenario)
        assert len(broken.received) == 1, "all six messages wait, because the receiver is paused"
        broken.statuses = [200]
        let_time_pass(scenario)
        deliver(scenario)
        assert len(broken.received) == 7 and {found.state.value for found in scenario.deliveries()} == {"DELIVERED"}


@pytest.mark.parametrize("fault", ["silent", "endless"])
def test_a_message_fails_after_a_timeout_if_the_response_does_not_end(
    scenario: AlertScenario, target: Receiver, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weir_workers.webhooks.sender.SEND_S", 3.0)
    setattr(target, fault, True)
    fire(scenario, scenario.webhook(target.url))
    deliver(scenario)  # never ends without a timeout
    assert "does not answer within 3 s" in str(only_delivery(scenario).problem)
    assert only_delivery(scenario).state.value == "PENDING" and len(target.received) == 1


# ---- concurrent and crashed workers ------------------------------------------------------------


def test_concurrent_workers_send_each_message_once(scenario: AlertScenario, target: Receiver) -> None:
    fire(scenario, scenario.webhook(target.url), jobs=30)
    threads = [threading.Thread(target=deliver, args=(scenario,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(target.received) == 30 == len({message.message_id for message in target.received})
    assert {found.state.value for found in scenario.deliveries()} == {"DELIVERED"}


def test_after_a_crash_of_the_sending_worker_the_message_is_sent_again(scenario: AlertScenario, target: Receiver) -> None:
    fire(scenario, scenario.webhook(target.url))
    with scenario.database.session() as session:
        [hook] = outbox.claim_webhooks(session, 8)
    with scenario.database.session() as session:
        message = outbox.claim_message(session, hook)
    assert message is not None
    asyncio.run(sender().send(message, None))  # the worker crashes after this call
    deliver(scenario)
    assert len(target.received) == 1, "the claim of the crashed worker has not expired"
    let_time_pass(scenario, outbox.CLAIM_DURATION)
    deliver(scenario)
    assert [found.message_id for found in target.received] == [str(message.message_id)] * 2
    assert (only_delivery(scenario).state.value, only_delivery(scenario).tries) == ("DELIVERED", 2)


def test_a_delivered_message_stays_delivered_if_later_attempts_fail(scenario: AlertScenario, target: Receiver) -> None:
    fire(scenario, scenario.webhook(target.url))
    with scenario.database.session() as session:
        [hook] = outbox.claim_webhooks(session, 8)
    with scenario.database.session() as session:
        message = outbox.claim_message(session, hook)
    assert message is not None
    for outcome in (outbox.DeliveryFailure("slow"), outbox.DeliverySuccess(200), outbox.DeliveryFailure("slow")):
        with scenario.database.session() as session:
            outbox.record_outcome(session, message, outcome)
    assert (only_delivery(scenario).state.value, only_delivery(scenario).http_status, only_delivery(scenario).problem) == (
        "DELIVERED",
        200,
        None,
    )


# ---- refused addresses -------------------------------------------------------------------------


def send(url: str, by: Sender) -> outbox.DeliverySuccess | outbox.DeliveryFailure:
    return asyncio.run(by.send(WebhookMessage(1, uuid.uuid4(), "ops", url, None, WebhookFormat.WEIR, {"type": "test"}), None))


def test_a_host_name_is_resolved_once_and_the_message_goes_to_the_checked_address(target: Receiver) -> None:
    resolved: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[Address]:
        resolved.append(host)
        return [ip_address("127.0.0.1" if len(resolved) == 1 else "169.254.169.254")]

    by = Sender(Reach.LOOPBACK, httpx2.create_ssl_context(), rebinding)
    url = f"http://name.test:{target.port}/x"
    assert send(url, by) == outbox.DeliverySuccess(200) and resolved == ["name.test"]
    assert target.received[0].headers["host"] == f"name.test:{target.port}" and target.received[0].path == "/x"
    refused = send(url, by)
    assert isinstance(refused, outbox.DeliveryFailure) and "cloud metadata service" in refused.problem
    assert len(target.received) == 1


@pytest.mark.parametrize(
    ("reach", "address", "problem"),
    [
        (Reach.LOOPBACK, "169.254.169.254", "cloud metadata service"),
        (Reach.LOOPBACK, "::ffff:169.254.169.254", "cloud metadata service"),
        (Reach.LOOPBACK, "fe80::1", "link-local"),
        (Reach.PRIVATE, "127.0.0.1", "WEIR_WEBHOOK_REACH"),
        (Reach.PRIVATE, "::1", "WEIR_WEBHOOK_REACH"),
        (Reach.PUBLIC, "10.0.0.1", "WEIR_WEBHOOK_REACH"),
        (Reach.PUBLIC, "10.0.0.1 127.0.0.1", "WEIR_WEBHOOK_REACH"),
    ],
)
def test_no_request_is_sent_if_a_host_name_resolves_to_a_refused_address(
    target: Receiver, reach: Reach, address: str, problem: str
) -> None:
    found = send(f"http://name.test:{target.port}/", sender(reach, name_test=address))
    assert isinstance(found, outbox.DeliveryFailure) and problem in found.problem and found.status is None
    assert target.received == []


def test_an_allowed_address_is_called_if_a_host_name_resolves_to_several_addresses(target: Receiver) -> None:
    found = send(f"http://name.test:{target.port}/", sender(Reach.LOOPBACK, name_test="169.254.169.254 127.0.0.1"))
    assert found == outbox.DeliverySuccess(200) and len(target.received) == 1


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "localhost"])
def test_the_address_of_localhost_is_refused_in_every_notation(target: Receiver, host: str) -> None:
    found = send(f"http://{host}:{target.port}/", Sender(Reach.PRIVATE, httpx2.create_ssl_context()))
    assert isinstance(found, outbox.DeliveryFailure) and target.received == []


def test_redirects_are_not_followed(target: Receiver) -> None:
    with receiver() as elsewhere:
        target.statuses, target.headers = [307], {"Location": elsewhere.url}
        found = send(target.url, sender())
        assert found == outbox.DeliveryFailure(f"http://127.0.0.1:{target.port} answers 307; redirects are not followed", 307)
        assert elsewhere.received == []


def test_proxy_variables_of_the_environment_are_ignored(target: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert send(target.url, sender()) == outbox.DeliverySuccess(200)
        assert proxy.received == [] and len(target.received) == 1


def test_an_unknown_host_name_is_reported() -> None:
    async def fail(host: str, port: int) -> Sequence[Address]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    found = send("http://nothing.test/", Sender(Reach.LOOPBACK, httpx2.create_ssl_context(), fail))
    assert found == outbox.DeliveryFailure("cannot resolve nothing.test")


def test_a_certificate_must_be_trusted_and_match_the_host_name(made: Certificates, tmp_path: Path) -> None:
    async def resolve_to_localhost(host: str, port: int) -> Sequence[Address]:
        return [ip_address("127.0.0.1")]

    with receiver(made.server_context(tmp_path)) as secure:
        trusting_sender = Sender(Reach.LOOPBACK, made.client_context(), resolve_to_localhost)
        assert send(f"https://receiver.test:{secure.port}/x", trusting_sender) == outbox.DeliverySuccess(200)
        assert secure.received[0].headers["host"] == f"receiver.test:{secure.port}"
        for url, by in (
            (f"https://another.test:{secure.port}/", trusting_sender),
            (f"https://127.0.0.1:{secure.port}/", trusting_sender),
            (f"https://receiver.test:{secure.port}/", Sender(Reach.LOOPBACK, ssl.create_default_context(), resolve_to_localhost)),
        ):
            found = send(url, by)
            assert isinstance(found, outbox.DeliveryFailure) and "cannot connect to" in found.problem, url
        assert len(secure.received) == 1


def test_the_claim_of_a_webhook_is_released_after_its_delivery(scenario: AlertScenario, target: Receiver) -> None:
    fire(scenario, scenario.webhook(target.url))
    with scenario.database.session() as session:
        assert len(outbox.claim_webhooks(session, 8)) == 1
    with scenario.database.session() as session:
        assert outbox.claim_webhooks(session, 8) == []
    let_time_pass(scenario, timedelta(0))
    deliver(scenario)
    assert len(target.received) == 1

    def claimed_until() -> datetime | None:
        with scenario.database.session() as session:
            return session.query(Webhook).one().not_before

    assert claimed_until() is None
