"""Messages that are sent for real, to a receiver on this machine: once they arrive, again if not, and never to where they must not go."""

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
from tests.backend.alerts.scene import Scene
from tests.backend.conftest import Login
from tests.backend.jobs import completed, triggered
from tests.backend.webhooks.certificates import Certificates, certificates
from tests.backend.webhooks.receiver import Receiver, is_signed, receiver

from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.models import AlertKind, Delivery, Role, Webhook
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
def scene(database: Database, settings: Settings) -> Scene:
    return Scene(database, settings)


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture(scope="module")
def made() -> Certificates:
    return certificates("receiver.test")


def sender(reach: Reach = Reach.LOOPBACK, **names: str) -> Sender:
    """``names``: with underscores for dots, and what they mean."""

    async def resolve(host: str, port: int) -> Sequence[Address]:
        return [ip_address(one) for one in names[host.replace(".", "_")].split()]

    trust = httpx2.create_ssl_context()
    return Sender(reach, trust, resolve) if names else Sender(reach, trust)


def go(scene: Scene, wanted: Sender | None = None) -> None:
    webhook_delivery.deliver_due(scene.context, lambda: wanted or sender())


def later(scene: Scene, by: timedelta = timedelta(days=2), *, created: bool = False) -> None:
    """Time passes: waits are over, and, if ``created``, messages are as old as that."""
    with scene.database.session() as session:
        session.execute(update(Webhook).values(not_before=None))
        session.execute(update(Delivery).where(Delivery.ended_at.is_(None)).values(next_try_at=Delivery.next_try_at - by))
        if created:
            session.execute(update(Delivery).values(created_at=Delivery.created_at - by))


def fire(scene: Scene, hook: int, jobs: int = 1) -> list[int]:
    """Ids of jobs of which an alert fires."""
    found = [scene.running().job_id for _ in range(jobs)]
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=hook)
    scene.round(11 * MINUTE)
    return found


def one(scene: Scene) -> Delivery:
    [found] = scene.deliveries()
    return found


# ---- what arrives ------------------------------------------------------------------------------


def test_an_alert_arrives_and_its_end_does(scene: Scene, there: Receiver) -> None:
    run = scene.running("route-delays")
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scene.webhook(there.url))
    scene.round(11 * MINUTE)
    go(scene)
    scene.send_events(run, triggered(1), completed(1))
    scene.round(MINUTE)
    go(scene)
    go(scene)
    first, second = there.received
    assert first.path == "/hooks/weir?of=tests" and first.headers["content-type"] == "application/json"
    assert first.headers["host"] == f"127.0.0.1:{there.port}" and first.headers["user-agent"] == "weir"
    [alert] = scene.alerts()
    assert first.body == {
        "type": "alert.firing",
        "text": f"route-delays: {alert.message} (no-checkpoint rule)",
        "created_at": scene.deliveries()[0].created_at.isoformat(),
        "alert": {
            "id": alert.id, "rule": "no-checkpoint rule", "kind": "no-checkpoint", "message": alert.message,
            "since": alert.since.isoformat(), "resolved_at": None, "resolution": None,
        },
        "job": {"id": run.job_id, "name": "route-delays"},
    }  # fmt: skip
    assert second.body["type"] == "alert.resolved" and second.body["alert"]["resolution"] == "checkpoint 1 is completed"
    assert second.body["alert"]["resolved_at"] is not None and second.body["text"].startswith("route-delays: resolved: ")
    assert [(found.state.value, found.tries, found.http_status, found.problem) for found in scene.deliveries()] == [
        ("DELIVERED", 1, 200, None), ("DELIVERED", 1, 200, None),
    ]  # fmt: skip
    assert [message.message_id for message in there.received] == [str(found.message_id) for found in scene.deliveries()]
    assert "webhook-signature" not in first.headers


def test_messages_are_signed_with_the_key_of_the_worker(scene: Scene, there: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_WEBHOOK_KEY_OPS", KEY)
    fire(scene, scene.webhook(there.url, secret_reference="env:WEIR_WEBHOOK_KEY_OPS"))
    go(scene)
    [message] = there.received
    assert is_signed(message, KEY.encode()) and not is_signed(message, b"another key, as long as that")
    assert KEY not in message.content.decode() + str(message.headers)


def test_without_its_key_nothing_is_sent_until_it_is_there(scene: Scene, there: Receiver, settings: Settings) -> None:
    fire(scene, scene.webhook(there.url, secret_reference="file:ops"))
    go(scene)
    assert there.received == [] and "ops" in str(one(scene).problem) and one(scene).state.value == "PENDING"
    directory = settings.data_dir / signing.KEYS_DIRECTORY
    directory.mkdir(parents=True)
    (directory / "ops").write_text(KEY)
    later(scene)
    go(scene)
    assert is_signed(there.received[0], KEY.encode()) and one(scene).state.value == "DELIVERED"


def test_a_test_says_what_came_of_it(scene: Scene, there: Receiver, client: TestClient, login: Login) -> None:
    admin = login(Role.ADMIN)

    def tested(url: str) -> dict[str, object]:
        with scene.database.session() as session:
            session.execute(update(Webhook).values(url=url, not_before=None))
        location = client.post(f"/api/v1/webhooks/{hook}/test", headers=admin).headers["Location"]
        assert client.get(location, headers=admin).json()["state"] == "PENDING"
        go(scene)
        answer: dict[str, object] = client.get(location, headers=admin).json()
        return answer

    hook = scene.webhook(there.url, enabled=False)
    good = tested(there.url)
    assert (good["state"], good["http_status"], good["problem"]) == ("DELIVERED", 200, None)
    assert there.received[0].body["type"] == "test" and "'ops' works" in there.received[0].body["text"]
    there.answers = [404]
    bad = tested(there.url)
    assert (bad["state"], bad["http_status"], bad["tries"]) == ("FAILED", 404, 1) and bad["ended_at"] is not None
    nobody = free_port()
    gone = tested(f"http://127.0.0.1:{nobody}/x?password=secret")
    assert gone["state"] == "FAILED" and gone["http_status"] is None
    assert str(gone["problem"]).startswith(f"cannot connect to http://127.0.0.1:{nobody}") and "secret" not in str(
        gone["problem"]
    )


# ---- what does not arrive ----------------------------------------------------------------------


def test_a_message_that_does_not_arrive_is_sent_again_as_the_same_one(scene: Scene, there: Receiver) -> None:
    there.answers = [500, 429, 204]
    fire(scene, scene.webhook(there.url))
    for tries, problem in ((1, "answers 500"), (2, "answers 429")):
        go(scene)
        found = one(scene)
        assert (found.state.value, found.tries) == ("PENDING", tries) and problem in str(found.problem)
        assert found.next_try_at > now()
        go(scene)
        assert len(there.received) == tries, "not before its time"
        later(scene)
    go(scene)
    assert (one(scene).state.value, one(scene).tries, one(scene).http_status, one(scene).problem) == ("DELIVERED", 3, 204, None)
    assert (
        len({message.message_id for message in there.received}) == 1 and len({message.content for message in there.received}) == 1
    )


def test_who_does_not_listen_for_a_day_is_given_up_visibly(
    scene: Scene, there: Receiver, client: TestClient, login: Login
) -> None:
    there.answers = [503]
    hook = scene.webhook(there.url)
    [job_id] = fire(scene, hook)
    go(scene)
    later(scene, created=True)
    go(scene)
    found = one(scene)
    assert (found.state.value, found.tries, found.http_status) == ("FAILED", 2, 503) and found.ended_at is not None
    [told] = scene.events_of(job_id, "AlertNotDelivered")
    assert told == {"alert": found.alert_id, "webhook": "ops", "message_kind": "FIRING", "problem": found.problem}
    text = client.get("/metrics", headers=login(Role.VIEWER)).text
    assert 'weir_webhook_messages{state="failed",webhook="ops"} 1.0' in text
    later(scene)
    go(scene)
    assert len(there.received) == 2, "and then no more"


def test_the_end_of_an_alert_is_not_told_before_its_beginning(scene: Scene, there: Receiver) -> None:
    there.answers = [500, 200]
    run = scene.running()
    scene.rule(AlertKind.NO_CHECKPOINT, minutes=10, webhook_id=scene.webhook(there.url))
    scene.round(11 * MINUTE)
    go(scene)
    scene.send_events(run, triggered(1), completed(1))
    scene.round(MINUTE)
    with scene.database.session() as session:
        session.execute(update(Webhook).values(not_before=None))
    go(scene)
    assert len(there.received) == 1, "the first one waits, so the second does"
    later(scene)
    go(scene)
    assert [body["type"] for body in there.bodies()] == ["alert.firing", "alert.firing", "alert.resolved"]


def test_a_webhook_that_is_switched_off_gives_up_what_waits(
    scene: Scene, there: Receiver, client: TestClient, login: Login
) -> None:
    there.answers = [500]
    hook = scene.webhook(there.url)
    fire(scene, hook)
    go(scene)
    headers = {**login(Role.ADMIN), "If-Match": "*"}
    assert client.patch(f"/api/v1/webhooks/{hook}", json={"enabled": False}, headers=headers).status_code == 200
    assert (one(scene).state.value, one(scene).problem) == ("FAILED", "the webhook was disabled")
    later(scene)
    go(scene)
    assert len(there.received) == 1


def test_a_receiver_that_fails_is_left_alone_for_a_moment_and_does_not_hold_up_the_others(scene: Scene, there: Receiver) -> None:
    with receiver() as broken:
        broken.answers = [500]
        fire(scene, scene.webhook(broken.url, name="broken"), jobs=5)
        fire(scene, scene.webhook(there.url, name="fine"))
        go(scene)
        assert len(broken.received) == 1 and len(there.received) == 6
        go(scene)
        assert len(broken.received) == 1, "five more wait for it, and it is left alone"
        broken.answers = [200]
        later(scene)
        go(scene)
        assert len(broken.received) == 7 and {found.state.value for found in scene.deliveries()} == {"DELIVERED"}


@pytest.mark.parametrize("how", ["silent", "endless"])
def test_a_receiver_without_end_is_cut_off(scene: Scene, there: Receiver, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weir_workers.webhooks.sender.SEND_S", 3.0)
    setattr(there, how, True)
    fire(scene, scene.webhook(there.url))
    go(scene)  # which would not end
    assert "does not answer within 3 s" in str(one(scene).problem)
    assert one(scene).state.value == "PENDING" and len(there.received) == 1


# ---- at once, cut off --------------------------------------------------------------------------


def test_workers_at_the_same_time_send_each_message_once(scene: Scene, there: Receiver) -> None:
    fire(scene, scene.webhook(there.url), jobs=30)
    threads = [threading.Thread(target=go, args=(scene,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(there.received) == 30 == len({message.message_id for message in there.received})
    assert {found.state.value for found in scene.deliveries()} == {"DELIVERED"}


def test_a_worker_that_dies_while_it_sends_is_followed_by_another_and_the_message_may_come_twice(
    scene: Scene, there: Receiver
) -> None:
    fire(scene, scene.webhook(there.url))
    with scene.database.session() as session:
        [hook] = outbox.claim_webhooks(session, 8)
    with scene.database.session() as session:
        message = outbox.claim_message(session, hook)
    assert message is not None
    asyncio.run(sender().send(message, None))  # and here it dies
    go(scene)
    assert len(there.received) == 1, "nobody knows that it died"
    later(scene, outbox.CLAIM_DURATION)
    go(scene)
    assert [found.message_id for found in there.received] == [str(message.message_id)] * 2
    assert (one(scene).state.value, one(scene).tries) == ("DELIVERED", 2)


def test_what_has_arrived_has_arrived_whoever_says_so_last(scene: Scene, there: Receiver) -> None:
    fire(scene, scene.webhook(there.url))
    with scene.database.session() as session:
        [hook] = outbox.claim_webhooks(session, 8)
    with scene.database.session() as session:
        message = outbox.claim_message(session, hook)
    assert message is not None
    for outcome in (outbox.NotSent("slow"), outbox.SendResult(200), outbox.NotSent("slow")):
        with scene.database.session() as session:
            outbox.record_outcome(session, message, outcome)
    assert (one(scene).state.value, one(scene).http_status, one(scene).problem) == ("DELIVERED", 200, None)


# ---- where messages must not go ----------------------------------------------------------------


def sent(url: str, by: Sender) -> outbox.SendResult | outbox.NotSent:
    return asyncio.run(by.send(WebhookMessage(1, uuid.uuid4(), "ops", url, None, {"type": "test"}), None))


def test_a_name_is_looked_up_once_and_what_it_means_is_judged_and_called(there: Receiver) -> None:
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[Address]:
        asked.append(host)
        return [ip_address("127.0.0.1" if len(asked) == 1 else "169.254.169.254")]

    by = Sender(Reach.LOOPBACK, httpx2.create_ssl_context(), rebinding)
    url = f"http://name.test:{there.port}/x"
    assert sent(url, by) == outbox.SendResult(200) and asked == ["name.test"]
    assert there.received[0].headers["host"] == f"name.test:{there.port}" and there.received[0].path == "/x"
    refused = sent(url, by)
    assert isinstance(refused, outbox.NotSent) and "cloud metadata service" in refused.problem
    assert len(there.received) == 1


@pytest.mark.parametrize(
    ("reach", "address", "said"),
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
def test_where_a_name_means_what_must_not_be_called_nothing_is(there: Receiver, reach: Reach, address: str, said: str) -> None:
    found = sent(f"http://name.test:{there.port}/", sender(reach, name_test=address))
    assert isinstance(found, outbox.NotSent) and said in found.problem and found.status is None
    assert there.received == []


def test_of_several_addresses_one_that_may_be_called_is(there: Receiver) -> None:
    found = sent(f"http://name.test:{there.port}/", sender(Reach.LOOPBACK, name_test="169.254.169.254 127.0.0.1"))
    assert found == outbox.SendResult(200) and len(there.received) == 1


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "localhost"])
def test_other_ways_to_write_this_machine_are_this_machine(there: Receiver, host: str) -> None:
    found = sent(f"http://{host}:{there.port}/", Sender(Reach.PRIVATE, httpx2.create_ssl_context()))
    assert isinstance(found, outbox.NotSent) and there.received == []


def test_redirects_are_not_followed(there: Receiver) -> None:
    with receiver() as elsewhere:
        there.answers, there.headers = [307], {"Location": elsewhere.url}
        found = sent(there.url, sender())
        assert found == outbox.NotSent(f"http://127.0.0.1:{there.port} answers 307; redirects are not followed", 307)
        assert elsewhere.received == []


def test_proxies_of_the_environment_are_not_asked(there: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert sent(there.url, sender()) == outbox.SendResult(200)
        assert proxy.received == [] and len(there.received) == 1


def test_a_name_that_does_not_exist_is_said_not_to() -> None:
    async def nobody(host: str, port: int) -> Sequence[Address]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    found = sent("http://nothing.test/", Sender(Reach.LOOPBACK, httpx2.create_ssl_context(), nobody))
    assert found == outbox.NotSent("cannot resolve nothing.test")


def test_a_certificate_has_to_be_that_of_the_name(made: Certificates, tmp_path: Path) -> None:
    async def here(host: str, port: int) -> Sequence[Address]:
        return [ip_address("127.0.0.1")]

    with receiver(made.of_server(tmp_path)) as secure:
        trusting = Sender(Reach.LOOPBACK, made.trust(), here)
        assert sent(f"https://receiver.test:{secure.port}/x", trusting) == outbox.SendResult(200)
        assert secure.received[0].headers["host"] == f"receiver.test:{secure.port}"
        for url, by in (
            (f"https://another.test:{secure.port}/", trusting),
            (f"https://127.0.0.1:{secure.port}/", trusting),
            (f"https://receiver.test:{secure.port}/", Sender(Reach.LOOPBACK, ssl.create_default_context(), here)),
        ):
            found = sent(url, by)
            assert isinstance(found, outbox.NotSent) and "cannot connect to" in found.problem, url
        assert len(secure.received) == 1


def test_a_webhook_that_was_taken_is_free_again(scene: Scene, there: Receiver) -> None:
    fire(scene, scene.webhook(there.url))
    with scene.database.session() as session:
        assert len(outbox.claim_webhooks(session, 8)) == 1
    with scene.database.session() as session:
        assert outbox.claim_webhooks(session, 8) == []
    later(scene, timedelta(0))
    go(scene)
    assert len(there.received) == 1

    def held() -> datetime | None:
        with scene.database.session() as session:
            return session.query(Webhook).one().not_before

    assert held() is None
