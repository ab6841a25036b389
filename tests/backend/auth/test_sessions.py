from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST
from fastapi.testclient import TestClient
from pydantic import AnyHttpUrl
from sqlalchemy import select, update
from tests.backend.auth.users import LOGIN_STATUS, PASSWORD, SESSION, audited, headers, log_in, person
from tests.backend.conftest import Login, RecordedTasks

from weir_backend.app import create_app
from weir_backend.auth import passwords
from weir_backend.auth.sessions.service import LOGINS, NAMES
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.models import Role, Token, TokenKind, User
from weir_backend.settings import Settings


def test_a_login_returns_a_token_and_a_cookie_for_twelve_hours(client: TestClient, database: Database) -> None:
    person(database, role=Role.OPERATOR, rollback=True)
    answer = log_in(client)
    assert answer.status_code == 201
    body = answer.json()
    assert body["permissions"] == ["operate", "rollback", "view"] and body["token_kind"] == "session"
    cookie = answer.headers["set-cookie"]
    assert f"weir_session={body['token']}" in cookie and "Secure" not in cookie
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Max-Age=43200", "Path=/"))
    with database.session() as session:
        kept = session.scalars(select(Token)).one()
        assert 11.9 < (kept.expires_at - now()).total_seconds() / 3600 < 12
    # By the cookie, as a browser; by the header, as a program.
    assert client.get(SESSION).json()["name"] == "alice"
    client.cookies.clear()
    assert client.get(SESSION).status_code == 401
    assert client.get(SESSION, headers={"Authorization": f"Bearer {body['token']}"}).json()["user_id"] == body["user_id"]
    assert audited(database) == [("alice", "log-in", "session")]


def test_the_cookie_is_secure_when_the_platform_uses_tls(settings: Settings, tasks: RecordedTasks, database: Database) -> None:
    person(database)
    over_tls = settings.model_copy(update={"public_url": AnyHttpUrl("https://weir.example")})
    with TestClient(create_app(over_tls, tasks), base_url="https://weir.example") as client:
        assert "Secure" in log_in(client).headers["set-cookie"]


def test_logging_out_ends_the_session_and_clears_the_cookie(client: TestClient, database: Database) -> None:
    person(database)
    token = log_in(client).json()["token"]
    ours = {"Sec-Fetch-Site": "same-origin"}
    answer = client.delete(SESSION, headers=ours)
    assert answer.status_code == 204 and 'weir_session=""' in answer.headers["set-cookie"]
    assert client.get(SESSION, headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert audited(database) == [("alice", "log-in", "session"), ("alice", "log-out", "session")]


def test_the_current_user_is_returned_and_null_without_a_login(client: TestClient, database: Database) -> None:
    nobody = {"session": None, "oidc": None}
    assert (client.get(LOGIN_STATUS).status_code, client.get(LOGIN_STATUS).json()) == (200, nobody)
    user_id = person(database, role=Role.OPERATOR)
    token = log_in(client).json()["token"]
    assert client.get(LOGIN_STATUS).json() == {"session": client.get(SESSION).json(), "oidc": None}
    client.cookies.clear()
    bearer = {"Authorization": f"Bearer {token}"}
    assert client.get(LOGIN_STATUS, headers=bearer).json()["session"]["permissions"] == ["operate", "view"]
    with database.session() as session:
        session.execute(update(User).where(User.id == user_id).values(disabled=True))
    assert client.get(LOGIN_STATUS, headers=bearer).json() == nobody
    assert client.get(LOGIN_STATUS, headers={"Authorization": "Bearer weir_guessed"}).json() == nobody


def test_the_current_user_endpoint_does_not_bypass_the_token_guess_limit(client: TestClient) -> None:
    statuses = [client.get(LOGIN_STATUS, headers={"Authorization": "Bearer guessed"}).status_code for _ in range(121)]
    assert statuses == [200] * 120 + [429]
    assert client.get(LOGIN_STATUS).status_code == 200, "without a token there is nothing to guess"


def test_another_site_cannot_use_the_cookie(client: TestClient, database: Database) -> None:
    person(database)
    log_in(client)
    answer = client.delete(SESSION, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403 and answer.json()["code"] == "cross-site"
    assert client.get(SESSION).status_code == 200


def test_logout_does_not_revoke_an_api_token(client: TestClient, login: Login) -> None:
    answer = client.delete(SESSION, headers=login())
    assert answer.status_code == 409 and "/api/v1/tokens/" in answer.json()["next_step"]


def test_a_failed_login_does_not_reveal_its_reason(client: TestClient, database: Database) -> None:
    person(database)
    disabled = person(database, "bob")
    with database.session() as session:
        session.execute(update(User).where(User.id == disabled).values(disabled=True))
        session.add(User(name="carol", role=Role.VIEWER))
    answers = [log_in(client, "alice", "wrong"), log_in(client, "nobody"), log_in(client, "bob"), log_in(client, "carol")]
    assert {one.status_code for one in answers} == {401}
    assert len({one.text for one in answers}) == 1 and all("set-cookie" not in one.headers for one in answers)


def test_an_unknown_name_costs_as_much_as_a_wrong_password(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]  # the base class returns only True
            verified.append(str(hash)[:30])
            return super().verify(hash, password)

    monkeypatch.setattr(passwords, "_HASHER", Counting())
    kept = passwords.hashed(PASSWORD)
    assert not passwords.matches("wrong", kept)
    assert not passwords.matches("wrong", None)
    assert len(verified) == 2 and verified[0] == verified[1], "with the same parameters"


def test_a_hash_with_other_parameters_is_recomputed(client: TestClient, database: Database) -> None:
    user_id = person(database)
    old = PasswordHasher.from_parameters(CHEAPEST).hash(PASSWORD)
    with database.session() as session:
        session.execute(update(User).where(User.id == user_id).values(password_hash=old))
    assert log_in(client, password="wrong").status_code == 401
    assert log_in(client).status_code == 201
    with database.session() as session:
        user = session.get_one(User, user_id)
        assert user.password_hash is not None and user.password_hash != old and not passwords.is_outdated(user.password_hash)
        assert user.version == 1, "nobody has changed anything"
    assert log_in(client).status_code == 201


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"name": "a\\u0000b", "password": "x"}',
        b'{"name": "a", "password": "\\ud800"}',
        b'{"name": "\\udc00", "password": "x"}',
        b'{"name": "a", "password": "' + b"x" * 1001 + b'"}',
        b'{"name": ["a"], "password": {}}',
        b"[]",
        b"no json",
    ],
)
def test_a_malformed_login_is_invalid(client: TestClient, body: bytes) -> None:
    assert client.post(SESSION, content=body, headers={"Content-Type": "application/json"}).status_code == 422


def test_a_form_of_another_site_cannot_log_in(client: TestClient, database: Database) -> None:
    person(database)
    body = f'{{"name": "alice", "password": "{PASSWORD}"}}'
    assert client.post(SESSION, content=body, headers={"Content-Type": "text/plain"}).status_code == 422


def test_a_body_that_is_too_large_is_not_read(client: TestClient) -> None:
    assert client.post(SESSION, content=b" " * 100_000, headers={"Content-Type": "application/json"}).status_code == 413


def test_login_attempts_per_name_are_limited_and_reset_by_a_success(client: TestClient, database: Database) -> None:
    person(database)
    for _ in range(NAMES.count - 1):
        assert log_in(client, password="wrong").status_code == 401
    assert log_in(client).status_code == 201, "Redis is not there, and nobody notices"
    for _ in range(NAMES.count):
        assert log_in(client, password="wrong").status_code == 401
    answer = log_in(client)
    assert answer.status_code == 429 and answer.json()["code"] == "too-many"
    assert 0 < int(answer.headers["Retry-After"]) <= NAMES.seconds


def test_login_attempts_per_address_are_limited_across_names(client: TestClient) -> None:
    statuses = [log_in(client, f"name{number}").status_code for number in range(LOGINS.count + 1)]
    assert statuses == [401] * LOGINS.count + [429]


def test_invalid_tokens_are_rate_limited_and_valid_ones_are_not(client: TestClient, login: Login) -> None:
    statuses = [client.get(SESSION, headers={"Authorization": f"Bearer weir_{number}"}).status_code for number in range(121)]
    assert statuses == [401] * 120 + [429]
    assert client.get(SESSION, headers=login()).status_code == 200


def test_an_unreachable_redis_does_not_delay_requests(client: TestClient, database: Database) -> None:
    person(database)
    begun = time.monotonic()
    for _ in range(5):
        assert log_in(client).status_code == 201
    assert time.monotonic() - begun < 3


def test_changing_the_own_password_ends_other_sessions(client: TestClient, database: Database, login: Login) -> None:
    person(database)
    here, elsewhere = headers(client), headers(client)
    change = {"old_password": PASSWORD, "new_password": "another one, longer"}
    assert (
        client.put(f"{SESSION}/password", json=change | {"old_password": "wrong"}, headers=here).json()["code"]
        == "wrong-password"
    )
    assert client.get(SESSION, headers=elsewhere).status_code == 200
    assert client.put(f"{SESSION}/password", json=change | {"new_password": "short"}, headers=here).status_code == 422
    assert client.put(f"{SESSION}/password", json=change, headers=here).status_code == 204
    assert client.get(SESSION, headers=here).status_code == 200
    assert client.get(SESSION, headers=elsewhere).status_code == 401
    assert log_in(client).status_code == 401
    assert log_in(client, password="another one, longer").status_code == 201
    assert ("alice", "change-password", "user") in audited(database)
    without = client.put(f"{SESSION}/password", json=change, headers=login())
    assert without.status_code == 409 and without.json()["code"] == "no-password"


def test_a_user_has_no_more_than_fifty_sessions(client: TestClient, database: Database) -> None:
    user_id = person(database)
    first = headers(client)
    with database.session() as session:
        session.add_all(
            Token(user_id=user_id, name="x", kind=TokenKind.SESSION, role=Role.VIEWER, digest=bytes([n]) * 32, expires_at=now())
            for n in range(49)
        )
    assert client.get(SESSION, headers=first).status_code == 200
    second = headers(client)
    assert client.get(SESSION, headers=first).status_code == 401, "the oldest"
    assert client.get(SESSION, headers=second).status_code == 200


def test_at_most_two_passwords_are_hashed_at_once(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        person(database, f"user{number}")
    lock, now_in, most = threading.Lock(), 0, 0
    pair = threading.Barrier(2, timeout=10)

    def together(really: Callable[..., bool]) -> Callable[..., bool]:
        def matches(*given: str) -> bool:
            nonlocal now_in, most
            with lock:
                now_in += 1
                most = max(most, now_in)
            pair.wait()
            with lock:
                now_in -= 1
            return really(*given)

        return matches

    monkeypatch.setattr(passwords, "matches", together(passwords.matches))
    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(lambda number: log_in(client, f"user{number}").status_code, range(6)))
    assert statuses == [201] * 6 and most == 2
