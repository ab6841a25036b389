from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import select
from sqlalchemy.orm import Session
from tests.backend.auth.users import PASSWORD, SESSION, audit_entries, create_user, log_in, session_headers
from tests.backend.conftest import Login

from weir_backend.auth.service import create_first_administrator
from weir_backend.auth.users import service
from weir_backend.errors import Conflict, Invalid
from weir_backend.kit.access import PLATFORM
from weir_backend.kit.database import Database
from weir_backend.models import AuditEntry, Role

USERS = "/api/v1/users"


def own_url(client: TestClient, token: dict[str, str]) -> str:
    return f"{USERS}/{client.get(SESSION, headers=token).json()['user_id']}"


def change(client: TestClient, where: str, token: dict[str, str], **what: Any) -> Response:
    return client.patch(where, json=what, headers=token | {"If-Match": "*"})


def test_the_first_administrator_is_created_only_once(database: Database, client: TestClient) -> None:
    with database.session() as session:
        assert create_first_administrator(session, "root", PASSWORD)
    with database.session() as session:
        assert not create_first_administrator(session, "other", PASSWORD)
    assert log_in(client, "root").json()["permissions"] == ["administer", "operate", "rollback", "view"]
    assert log_in(client, "other").status_code == 401
    assert audit_entries(database)[0] == ("weir", "create", "user")


def test_concurrent_attempts_create_only_one_first_administrator(database: Database) -> None:
    def make(number: int) -> bool:
        with database.session() as session:
            return create_first_administrator(session, f"admin{number}", PASSWORD)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(4))) == [False, False, False, True]


@pytest.mark.parametrize(("name", "password"), [("weir", PASSWORD), ("a\x00", PASSWORD), ("", PASSWORD), ("root", "short")])
def test_the_first_administrator_needs_a_valid_name_and_password(database: Database, name: str, password: str) -> None:
    with pytest.raises(Invalid), database.session() as session:
        create_first_administrator(session, name, password)


def test_an_administrator_can_create_read_update_and_delete_a_user(client: TestClient, database: Database, login: Login) -> None:
    admin = login(name="root")
    made = client.post(USERS, json={"name": "bob", "role": "viewer", "password": PASSWORD}, headers=admin)
    assert made.status_code == 201 and made.headers["ETag"] == '"1"'
    body = made.json()
    assert body["has_password"] and not body["has_oidc"] and not body["disabled"] and not body["rollback"]
    where = f"{USERS}/{body['id']}"
    assert client.get(where, headers=admin).json() == body
    assert client.patch(where, json={"role": "operator"}, headers=admin).status_code == 428
    changed = client.patch(where, json={"role": "operator", "rollback": True}, headers=admin | {"If-Match": '"1"'})
    assert changed.status_code == 200 and changed.headers["ETag"] == '"2"' and changed.json()["role"] == "operator"
    assert client.patch(where, json={"disabled": True}, headers=admin | {"If-Match": '"1"'}).status_code == 412
    assert client.delete(where, headers=admin | {"If-Match": '"1"'}).status_code == 412
    assert client.delete(where, headers=admin).status_code == 204
    assert client.get(where, headers=admin).status_code == 404 and client.delete(where, headers=admin).status_code == 404
    assert audit_entries(database) == [("root", verb, "user") for verb in ("create", "update", "delete")]
    with database.session() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "update")).one()
        assert entry.before == {"role": "viewer", "rollback": False} and entry.after == {"role": "operator", "rollback": True}


def test_an_update_that_changes_nothing_writes_no_audit_entry(client: TestClient, database: Database, login: Login) -> None:
    admin = login()
    assert change(client, own_url(client, admin), admin, role="admin").headers["ETag"] == '"1"'
    assert audit_entries(database) == []


def test_user_names_are_unique(client: TestClient, login: Login) -> None:
    admin = login(name="root")
    answer = client.post(USERS, json={"name": "root", "role": "viewer"}, headers=admin)
    assert answer.status_code == 409 and answer.json()["code"] == "name-taken"


def test_concurrent_requests_with_the_same_name_create_only_one_user(client: TestClient, login: Login) -> None:
    admin = login()
    with ThreadPoolExecutor(4) as pool:
        made = pool.map(lambda _: client.post(USERS, json={"name": "bob", "role": "viewer"}, headers=admin).status_code, range(4))
    assert sorted(made) == [201, 409, 409, 409]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "a\x00b", "role": "viewer"},
        {"name": "weir", "role": "viewer"},
        {"name": " a", "role": "viewer"},
        {"name": "a" * 101, "role": "viewer"},
        {"name": "a", "role": "god"},
        {"name": "a", "role": "viewer", "password": "short"},
        {"name": "a", "role": "viewer", "admin": True},
        {},
    ],
)
def test_a_malformed_user_is_invalid(client: TestClient, login: Login, body: dict[str, Any]) -> None:
    assert client.post(USERS, json=body, headers=login()).status_code == 422


def test_an_empty_update_is_invalid(client: TestClient, login: Login) -> None:
    admin = login()
    for nothing in ({}, {"role": None}):
        assert client.patch(own_url(client, admin), json=nothing, headers=admin | {"If-Match": "*"}).status_code == 422
    assert client.get(f"{USERS}/{1 << 63}", headers=admin).status_code == 422


def test_the_last_enabled_administrator_cannot_be_removed(client: TestClient, database: Database, login: Login) -> None:
    admin = login(name="root")
    create_user(database, "disabled", Role.ADMIN)
    other = next(one for one in client.get(USERS, headers=admin).json() if one["name"] == "disabled")
    assert change(client, f"{USERS}/{other['id']}", admin, disabled=True).status_code == 200
    where = own_url(client, admin)
    for answer in (
        change(client, where, admin, role="operator"),
        change(client, where, admin, disabled=True),
        client.delete(where, headers=admin),
    ):
        assert answer.status_code == 409 and answer.json()["code"] == "last-administrator"
    assert change(client, where, admin, rollback=True).status_code == 200
    login(name="second")
    assert client.delete(where, headers=admin).status_code == 204
    assert client.get(SESSION, headers=admin).status_code == 401


def test_concurrent_requests_cannot_disable_both_of_the_last_two_administrators(database: Database) -> None:
    first, second = (create_user(database, name, Role.ADMIN) for name in ("first", "second"))

    def disable(session: Session, user_id: int) -> None:
        service.change(session, PLATFORM, user_id, "*", {"disabled": True}, password_hash=None)

    def disable_second() -> str:
        try:
            with database.session() as session:
                started.set()
                disable(session, second)
        except Conflict as problem:
            return problem.code
        return "disabled"

    started = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with database.session() as session:
            disable(session, first)
            answer = pool.submit(disable_second)
            assert started.wait(10)
            waiting = wait({answer}, timeout=0.5).not_done
        assert waiting and answer.result() == "last-administrator"


def test_a_change_of_permissions_takes_effect_immediately(client: TestClient, database: Database, login: Login) -> None:
    admin = login()
    user_id = create_user(database, role=Role.ADMIN)
    alice = session_headers(client)
    assert client.get(USERS, headers=alice).status_code == 200
    assert change(client, f"{USERS}/{user_id}", admin, role="viewer").status_code == 200
    assert client.get(USERS, headers=alice).status_code == 403
    assert change(client, f"{USERS}/{user_id}", admin, disabled=True).status_code == 200
    assert client.get(SESSION, headers=alice).status_code == 401
    assert change(client, f"{USERS}/{user_id}", admin, disabled=False).status_code == 200
    assert client.get(SESSION, headers=alice).status_code == 401, "disabling the user ended the sessions"


def test_the_api_tokens_of_a_disabled_user_stop_working_at_once(client: TestClient, login: Login) -> None:
    admin, bob = login(), login(Role.OPERATOR, rollback=True, name="bob")
    where = own_url(client, bob)
    assert change(client, where, admin, rollback=False).status_code == 200
    assert client.get(SESSION, headers=bob).json()["permissions"] == ["operate", "view"]
    assert change(client, where, admin, disabled=True).status_code == 200
    for path in (SESSION, "/api/v1/jobs", "/metrics"):
        assert client.get(path, headers=bob).status_code == 401


def test_a_password_change_by_an_administrator_ends_the_sessions_of_the_user(
    client: TestClient, database: Database, login: Login
) -> None:
    user_id = create_user(database)
    alice = session_headers(client)
    assert change(client, f"{USERS}/{user_id}", login(), password="another one, longer").status_code == 200
    assert client.get(SESSION, headers=alice).status_code == 401
    assert log_in(client).status_code == 401 and log_in(client, password="another one, longer").status_code == 201


def test_the_list_of_users_can_be_paged_and_filtered(client: TestClient, login: Login) -> None:
    admin = login(name="zoe")
    for name in ("anna", "bert"):
        login(Role.VIEWER, name=name)
    answer = client.get(USERS, params={"range": "[0,1]"}, headers=admin)
    assert [one["name"] for one in answer.json()] == ["anna", "bert"] and answer.headers["Content-Range"] == "users 0-1/3"
    named = client.get(USERS, params={"filter": '{"name": "ER", "role": ["viewer"]}'}, headers=admin)
    assert [one["name"] for one in named.json()] == ["bert"]
    for wrong in ('{"name": "\\u0000"}', '{"name": "\\ud800"}', '{"role": "\\ud800"}', '{"password_hash": "x"}', '{"id": true}'):
        assert client.get(USERS, params={"filter": wrong}, headers=admin).status_code == 422
    assert client.get(USERS, params={"sort": '["password_hash","ASC"]'}, headers=admin).status_code == 422
