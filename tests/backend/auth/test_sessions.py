from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import AnyHttpUrl
from sqlalchemy import select, update
from tests.backend.auth.users import LOGIN_STATUS, PASSWORD, SESSION, audit_entries, create_user, log_in, session_headers
from tests.backend.conftest import Login, RecordedTasks
from uvicorn._types import ASGI3Application
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from weir_backend.app import create_app
from weir_backend.auth import passwords
from weir_backend.auth.sessions import service
from weir_backend.auth.sessions.service import LOGINS, NAMES
from weir_backend.errors import Unauthenticated
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.rate_limits import RateLimiter
from weir_backend.models import Role, Token, TokenKind, User
from weir_backend.settings import Settings


def test_a_login_returns_a_token_and_a_cookie_that_are_valid_for_twelve_hours(client: TestClient, database: Database) -> None:
    create_user(database, role=Role.OPERATOR, rollback=True)
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
    # Browsers send the token as a cookie. Other programs send the token in a header.
    assert client.get(SESSION).json()["name"] == "alice"
    client.cookies.clear()
    assert client.get(SESSION).status_code == 401
    assert client.get(SESSION, headers={"Authorization": f"Bearer {body['token']}"}).json()["user_id"] == body["user_id"]
    assert audit_entries(database) == [("alice", "log-in", "session")]


def test_the_cookie_is_secure_when_the_platform_uses_tls(settings: Settings, tasks: RecordedTasks, database: Database) -> None:
    create_user(database)
    over_tls = settings.model_copy(update={"public_url": AnyHttpUrl("https://weir.example")})
    with TestClient(create_app(over_tls, tasks), base_url="https://weir.example") as client:
        assert "Secure" in log_in(client).headers["set-cookie"]


def test_logging_out_ends_the_session_and_clears_the_cookie(client: TestClient, database: Database) -> None:
    create_user(database)
    token = log_in(client).json()["token"]
    same_origin = {"Sec-Fetch-Site": "same-origin"}
    answer = client.delete(SESSION, headers=same_origin)
    assert answer.status_code == 204 and 'weir_session=""' in answer.headers["set-cookie"]
    assert client.get(SESSION, headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert audit_entries(database) == [("alice", "log-in", "session"), ("alice", "log-out", "session")]


def test_the_login_status_contains_the_session_of_the_caller_if_there_is_one(client: TestClient, database: Database) -> None:
    no_session = {"session": None, "oidc": None}
    assert (client.get(LOGIN_STATUS).status_code, client.get(LOGIN_STATUS).json()) == (200, no_session)
    user_id = create_user(database, role=Role.OPERATOR)
    token = log_in(client).json()["token"]
    assert client.get(LOGIN_STATUS).json() == {"session": client.get(SESSION).json(), "oidc": None}
    client.cookies.clear()
    bearer = {"Authorization": f"Bearer {token}"}
    assert client.get(LOGIN_STATUS, headers=bearer).json()["session"]["permissions"] == ["operate", "view"]
    with database.session() as session:
        session.execute(update(User).where(User.id == user_id).values(disabled=True))
    assert client.get(LOGIN_STATUS, headers=bearer).json() == no_session
    assert client.get(LOGIN_STATUS, headers={"Authorization": "Bearer weir_guessed"}).json() == no_session


def test_invalid_tokens_are_rate_limited_at_the_login_status_endpoint(client: TestClient) -> None:
    statuses = [client.get(LOGIN_STATUS, headers={"Authorization": "Bearer guessed"}).status_code for _ in range(121)]
    assert statuses == [200] * 120 + [429]
    assert client.get(LOGIN_STATUS).status_code == 200, "requests without a token are not limited"


def test_a_cross_site_request_with_the_cookie_is_refused(client: TestClient, database: Database) -> None:
    create_user(database)
    log_in(client)
    answer = client.delete(SESSION, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403 and answer.json()["code"] == "cross-site"
    assert client.get(SESSION).status_code == 200


def test_logout_does_not_revoke_an_api_token(client: TestClient, login: Login) -> None:
    answer = client.delete(SESSION, headers=login())
    assert answer.status_code == 409 and "/api/v1/tokens/" in answer.json()["next_step"]


def test_a_failed_login_does_not_reveal_its_reason(client: TestClient, database: Database) -> None:
    create_user(database)
    disabled = create_user(database, "bob")
    with database.session() as session:
        session.execute(update(User).where(User.id == disabled).values(disabled=True))
        session.add(User(name="carol", role=Role.VIEWER))
    answers = [log_in(client, "alice", "wrong"), log_in(client, "unknown"), log_in(client, "bob"), log_in(client, "carol")]
    assert {one.status_code for one in answers} == {401}
    assert len({one.text for one in answers}) == 1 and all("set-cookie" not in one.headers for one in answers)


def test_a_login_computes_exactly_one_hash_even_for_an_unknown_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verified: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]  # the base class returns only True
            verified.append(str(hash)[:30])
            return super().verify(hash, password)

    monkeypatch.setattr(passwords, "_HASHER", Counting())
    kept = passwords.hashed(PASSWORD)
    assert not passwords.matches("wrong", kept)
    assert not passwords.matches("wrong", None)
    assert len(verified) == 2 and verified[0] == verified[1], "both hashes have the same parameters"


def test_a_hash_with_outdated_parameters_is_recomputed_at_login(client: TestClient, database: Database) -> None:
    user_id = create_user(database)
    old = PasswordHasher.from_parameters(CHEAPEST).hash(PASSWORD)
    with database.session() as session:
        session.execute(update(User).where(User.id == user_id).values(password_hash=old))
    assert log_in(client, password="wrong").status_code == 401
    assert log_in(client).status_code == 201
    with database.session() as session:
        user = session.get_one(User, user_id)
        assert user.password_hash is not None and user.password_hash != old and not passwords.is_outdated(user.password_hash)
        assert user.version == 1, "recomputing the hash does not increase the version of the user's row"
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


def test_a_login_without_a_json_content_type_is_invalid(client: TestClient, database: Database) -> None:
    """HTML forms of other sites cannot send JSON as the content type."""
    create_user(database)
    body = f'{{"name": "alice", "password": "{PASSWORD}"}}'
    assert client.post(SESSION, content=body, headers={"Content-Type": "text/plain"}).status_code == 422


def test_a_body_that_is_too_large_is_not_read(client: TestClient) -> None:
    assert client.post(SESSION, content=b" " * 100_000, headers={"Content-Type": "application/json"}).status_code == 413


def test_failed_logins_are_limited_per_name_and_a_successful_login_resets_the_count(
    client: TestClient, database: Database
) -> None:
    create_user(database)
    for _ in range(NAMES.count - 1):
        assert log_in(client, password="wrong").status_code == 401
    assert log_in(client).status_code == 201, "a login succeeds before failed logins reach the limit, even without Redis"
    for _ in range(NAMES.count):
        assert log_in(client, password="wrong").status_code == 401
    answer = log_in(client)
    assert answer.status_code == 429 and answer.json()["code"] == "too-many"
    assert 0 < int(answer.headers["Retry-After"]) <= NAMES.seconds


def test_logins_from_one_address_are_limited_even_if_the_names_differ(client: TestClient) -> None:
    statuses = [log_in(client, f"name{number}").status_code for number in range(LOGINS.count + 1)]
    assert statuses == [401] * LOGINS.count + [429]


def test_successful_logins_are_not_limited(client: TestClient, database: Database) -> None:
    create_user(database)
    assert [log_in(client).status_code for _ in range(LOGINS.count + 1)] == [201] * (LOGINS.count + 1)
    assert log_in(client, password="wrong").status_code == 401


def from_address(client: TestClient, address: str) -> TestClient:
    return TestClient(client.app, client=(address, 50_000), raise_server_exceptions=False)


def test_failed_logins_from_one_address_do_not_lock_out_a_user_at_another_address(client: TestClient, database: Database) -> None:
    create_user(database)
    attacker, alice = from_address(client, "198.51.100.7"), from_address(client, "192.0.2.1")
    for _ in range(NAMES.count):
        assert log_in(attacker, password="wrong").status_code == 401
    assert log_in(attacker).status_code == 429
    assert log_in(alice).status_code == 201
    assert log_in(attacker).status_code == 429, "a login from another address does not reset the count"
    assert log_in(attacker, "bob").status_code == 401, "the limit per user and address does not apply to other users"


def test_failed_logins_from_many_addresses_do_not_lock_out_the_user(database: Database, settings: Settings) -> None:
    create_user(database)
    rates = RateLimiter(settings.redis_url.get_secret_value())

    def attempt(password: str, address: str) -> None:
        with database.session() as session:
            service.log_in(session, rates, "alice", password, address=address, request_id=None)

    for number in range(501):
        with pytest.raises(Unauthenticated):
            attempt("wrong", f"198.51.{number // 250}.{number % 250}")
    attempt(PASSWORD, "192.0.2.1")


@pytest.mark.parametrize(
    ("peer", "statuses"), [("192.0.2.9", [401] * NAMES.count + [429]), ("192.0.2.80", [401] * (NAMES.count + 1))]
)
def test_only_a_trusted_proxy_can_name_the_address_of_the_client(
    client: TestClient, database: Database, peer: str, statuses: list[int]
) -> None:
    create_user(database)
    app = ProxyHeadersMiddleware(cast(ASGI3Application, client.app), trusted_hosts="192.0.2.80")
    caller = TestClient(cast(FastAPI, app), client=(peer, 50_000))
    found = []
    for number in range(NAMES.count + 1):
        caller.headers["X-Forwarded-For"] = f"203.0.113.1, 198.51.100.{number}"
        found.append(log_in(caller, password="wrong").status_code)
    assert found == statuses


def test_wrong_old_passwords_are_limited(client: TestClient, database: Database) -> None:
    create_user(database)
    mine = session_headers(client)
    wrong = {"old_password": "wrong", "new_password": "another one, longer"}
    statuses = [client.put(f"{SESSION}/password", json=wrong, headers=mine).status_code for _ in range(NAMES.count + 1)]
    assert statuses == [422] * NAMES.count + [429]


def test_only_requests_with_invalid_tokens_are_rate_limited(client: TestClient, login: Login) -> None:
    statuses = [client.get(SESSION, headers={"Authorization": f"Bearer weir_{number}"}).status_code for number in range(121)]
    assert statuses == [401] * 120 + [429]
    assert client.get(SESSION, headers=login()).status_code == 200


def test_an_unreachable_redis_does_not_delay_requests(client: TestClient, database: Database) -> None:
    create_user(database)
    started_s = time.monotonic()
    for _ in range(5):
        assert log_in(client).status_code == 201
    assert time.monotonic() - started_s < 3


def test_changing_the_password_ends_all_other_sessions_of_the_user(client: TestClient, database: Database, login: Login) -> None:
    create_user(database)
    first_session, second_session = session_headers(client), session_headers(client)
    change = {"old_password": PASSWORD, "new_password": "another one, longer"}
    assert (
        client.put(f"{SESSION}/password", json=change | {"old_password": "wrong"}, headers=first_session).json()["code"]
        == "wrong-password"
    )
    assert client.get(SESSION, headers=second_session).status_code == 200
    assert client.put(f"{SESSION}/password", json=change | {"new_password": "short"}, headers=first_session).status_code == 422
    assert client.put(f"{SESSION}/password", json=change, headers=first_session).status_code == 204
    assert client.get(SESSION, headers=first_session).status_code == 200
    assert client.get(SESSION, headers=second_session).status_code == 401
    assert log_in(client).status_code == 401
    assert log_in(client, password="another one, longer").status_code == 201
    assert ("alice", "change-password", "user") in audit_entries(database)
    without = client.put(f"{SESSION}/password", json=change, headers=login())
    assert without.status_code == 409 and without.json()["code"] == "no-password"


def test_a_user_has_no_more_than_fifty_sessions(client: TestClient, database: Database) -> None:
    user_id = create_user(database)
    first = session_headers(client)
    with database.session() as session:
        session.add_all(
            Token(user_id=user_id, name="x", kind=TokenKind.SESSION, role=Role.VIEWER, digest=bytes([n]) * 32, expires_at=now())
            for n in range(49)
        )
    assert client.get(SESSION, headers=first).status_code == 200
    second = session_headers(client)
    assert client.get(SESSION, headers=first).status_code == 401, "the oldest session has ended"
    assert client.get(SESSION, headers=second).status_code == 200


def test_at_most_two_passwords_are_hashed_concurrently(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        create_user(database, f"user{number}")
    lock, active, peak = threading.Lock(), 0, 0
    pair = threading.Barrier(2, timeout=10)

    def in_pairs(really: Callable[..., bool]) -> Callable[..., bool]:
        def matches(*given: str) -> bool:
            nonlocal active, peak
            with lock:
                active += 1
                peak = max(peak, active)
            pair.wait()
            with lock:
                active -= 1
            return really(*given)

        return matches

    monkeypatch.setattr(passwords, "matches", in_pairs(passwords.matches))
    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(lambda number: log_in(client, f"user{number}").status_code, range(6)))
    assert statuses == [201] * 6 and peak == 2
