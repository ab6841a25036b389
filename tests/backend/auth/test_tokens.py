from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from tests.backend.auth.users import SESSION, audit_entries
from tests.backend.conftest import Login

from weir_backend.auth.tokens.service import LIVE_MAX
from weir_backend.housekeeping.repository import delete_tokens
from weir_backend.kit.access import digest
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.models import Role, Token, TokenKind

TOKENS = "/api/v1/tokens"


def new(**more: Any) -> dict[str, Any]:
    return {"name": "CI", "role": "viewer", "expires_in_days": 30} | more


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_token_is_shown_once_and_stored_as_a_hash(client: TestClient, database: Database, login: Login) -> None:
    mine = login(Role.OPERATOR, name="olga")
    made = client.post(TOKENS, json=new(role="operator"), headers=mine)
    assert made.status_code == 201
    secret = made.json()["token"]
    assert client.get(SESSION, headers=bearer(secret)).json()["permissions"] == ["operate", "view"]
    with database.session() as session:
        kept = session.get_one(Token, made.json()["id"])
        assert kept.digest == digest(secret) and 29.9 < (kept.expires_at - now()) / timedelta(days=1) < 30
    for answer in (client.get(TOKENS, headers=mine), client.get(f"{TOKENS}/{made.json()['id']}", headers=mine)):
        assert answer.status_code == 200 and secret not in answer.text and "digest" not in answer.text
    assert audit_entries(database) == [("olga", "create", "token")]


@pytest.mark.parametrize(
    ("creator", "requested", "allowed"),
    [
        ((Role.VIEWER, False), {"role": "viewer"}, True),
        ((Role.VIEWER, False), {"role": "operator"}, False),
        ((Role.OPERATOR, False), {"role": "admin"}, False),
        ((Role.OPERATOR, False), {"role": "viewer", "rollback": True}, False),
        ((Role.ADMIN, False), {"role": "viewer", "rollback": True}, False),
        ((Role.OPERATOR, True), {"role": "viewer", "rollback": True}, True),
        ((Role.ADMIN, False), {"role": "operator"}, True),
    ],
)
def test_a_token_cannot_exceed_the_permissions_of_its_creator(
    client: TestClient, login: Login, creator: tuple[Role, bool], requested: dict[str, Any], allowed: bool
) -> None:
    answer = client.post(TOKENS, json=new(**requested), headers=login(creator[0], rollback=creator[1]))
    assert answer.status_code == (201 if allowed else 403)


def test_a_token_cannot_create_a_token_with_more_permissions(client: TestClient, login: Login) -> None:
    less = bearer(client.post(TOKENS, json=new(), headers=login(Role.ADMIN)).json()["token"])
    assert client.post(TOKENS, json=new(role="operator"), headers=less).status_code == 403
    assert client.get("/api/v1/users", headers=less).status_code == 403


def test_a_token_cannot_create_a_token_with_a_later_expiry(client: TestClient, login: Login) -> None:
    short = client.post(TOKENS, json=new(expires_in_days=1), headers=login()).json()["token"]
    answer = client.post(TOKENS, json=new(expires_in_days=2), headers=bearer(short))
    assert answer.status_code == 403 and answer.json()["code"] == "expiry-too-late"


def test_a_token_can_revoke_itself_but_not_a_token_with_more_permissions(client: TestClient, login: Login) -> None:
    mine = login(Role.OPERATOR)
    more = client.post(TOKENS, json=new(role="operator"), headers=mine).json()["id"]
    less = client.post(TOKENS, json=new(), headers=mine).json()
    assert client.delete(f"{TOKENS}/{more}", headers=bearer(less["token"])).status_code == 403
    assert client.delete(f"{TOKENS}/{less['id']}", headers=bearer(less["token"])).status_code == 204
    assert client.delete(f"{TOKENS}/{more}", headers=mine).status_code == 204


def test_revoked_and_expired_tokens_are_refused_immediately(client: TestClient, database: Database, login: Login) -> None:
    mine = login(Role.VIEWER)
    made = [client.post(TOKENS, json=new(), headers=mine).json() for _ in range(2)]
    for _ in range(2):
        assert client.delete(f"{TOKENS}/{made[0]['id']}", headers=mine).status_code == 204, "a second revocation has no effect"
    with database.session() as session:
        session.execute(update(Token).where(Token.id == made[1]["id"]).values(expires_at=now()))
    revoked, expired = (client.get(SESSION, headers=bearer(one["token"])) for one in made)
    assert revoked.status_code == expired.status_code == 401
    assert revoked.json()["code"] == "unauthenticated" and "expired" not in revoked.text
    problem = expired.json()
    assert problem["code"] == "expired" and "'CI' expired at" in problem["detail"] and "WEIR_TOKEN" in problem["detail"]
    assert [entry[1] for entry in audit_entries(database)] == ["create", "create", "revoke"]


def test_only_administrators_can_access_the_tokens_of_other_users(client: TestClient, login: Login) -> None:
    olga, admin = login(Role.OPERATOR), login(Role.ADMIN)
    made = client.post(TOKENS, json=new(), headers=olga).json()
    other = login(Role.OPERATOR)
    where, of_olga = f"{TOKENS}/{made['id']}", {"filter": f'{{"user_id": {made["user_id"]}}}'}
    assert client.get(where, headers=other).status_code == 404 and client.delete(where, headers=other).status_code == 404
    assert client.get(TOKENS, params=of_olga, headers=other).json() == []
    assert made["id"] not in [one["id"] for one in client.get(TOKENS, headers=admin).json()]
    assert made["id"] in [one["id"] for one in client.get(TOKENS, params=of_olga, headers=admin).json()]
    assert client.get(where, headers=admin).status_code == 200 and client.delete(where, headers=admin).status_code == 204
    live = client.get(TOKENS, params={"filter": '{"live": true, "kind": "api"}'}, headers=olga)
    assert [one["name"] for one in live.json()] == ["tests"] and live.headers["Content-Range"] == "tokens 0-0/1"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": " "},
        {"name": "a\x00"},
        {"expires_in_days": 0},
        {"expires_in_days": 366},
        {"role": "root"},
        {"x": 1},
    ],
)
def test_a_malformed_token_request_is_invalid(client: TestClient, login: Login, wrong: dict[str, Any]) -> None:
    assert client.post(TOKENS, json=new(**wrong), headers=login()).status_code == 422


def test_a_filter_with_an_unknown_field_or_a_wrong_type_is_invalid(client: TestClient, login: Login) -> None:
    for wrong in ('{"live": 1}', '{"everybody": "yes"}', '{"digest": "x"}', '{"user_id": "x"}'):
        assert client.get(TOKENS, params={"filter": wrong}, headers=login()).status_code == 422


def test_a_user_has_no_more_than_a_hundred_tokens(client: TestClient, database: Database, login: Login) -> None:
    mine = login(Role.VIEWER)
    user_id = client.get(SESSION, headers=mine).json()["user_id"]
    with database.session() as session:
        session.add_all(
            Token(
                user_id=user_id, name="x", kind=TokenKind.API, role=Role.VIEWER, digest=bytes([n]) * 32,
                expires_at=now() + timedelta(days=1),
            )
            for n in range(LIVE_MAX - 1)
        )  # fmt: skip
    answer = client.post(TOKENS, json=new(), headers=mine)
    assert answer.status_code == 409 and answer.json()["code"] == "too-many-tokens"


def test_revoked_tokens_are_deleted_after_their_retention_time(client: TestClient, database: Database, login: Login) -> None:
    mine = login(Role.VIEWER)
    made = client.post(TOKENS, json=new(), headers=mine).json()
    client.delete(f"{TOKENS}/{made['id']}", headers=mine)
    with database.session() as session:
        assert delete_tokens(session, now() - timedelta(days=1), 10) == 0
        assert delete_tokens(session, now(), 10) == 1
        assert [one.name for one in session.scalars(select(Token))] == ["tests"]


def test_administrators_can_list_all_tokens_and_other_users_can_list_only_their_own_tokens(
    client: TestClient, login: Login
) -> None:
    of_olga, of_root = login(Role.OPERATOR, name="olga"), login(Role.ADMIN, name="root")
    client.post(TOKENS, json=new(), headers=of_olga)
    all_users = {"filter": '{"everybody": true}'}
    own = client.get(TOKENS, headers=of_olga).json()
    assert client.get(TOKENS, headers=of_olga, params=all_users).json() == own
    found = client.get(TOKENS, headers=of_root, params=all_users)
    assert {one["user_id"] for one in found.json()} == {
        own[0]["user_id"],
        *(one["user_id"] for one in client.get(TOKENS, headers=of_root).json()),
    }
    assert found.headers["content-range"] == f"tokens 0-{len(found.json()) - 1}/{len(found.json())}"
    assert (
        client.get(TOKENS, headers=of_root, params={"filter": '{"everybody": false}'}).json()
        == client.get(TOKENS, headers=of_root).json()
    )
