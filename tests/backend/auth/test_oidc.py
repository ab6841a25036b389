"""Login with OpenID Connect at a fake provider, and attacks on this login."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from fastapi.testclient import TestClient
from httpx2 import Response
from joserfc import jws
from joserfc.jwk import RSAKey
from pydantic import AnyHttpUrl, SecretStr, ValidationError
from sqlalchemy import select, update
from tests.backend.auth.oidc_provider import CLIENT, SECRET, FakeProvider, running_provider
from tests.backend.auth.users import LOGIN_STATUS, SESSION, audit_entries, create_user
from tests.backend.conftest import Login, RecordedTasks, change_settings

from weir_backend.app import create_app
from weir_backend.auth.oidc import flow
from weir_backend.auth.oidc.provider import Provider
from weir_backend.errors import Unavailable
from weir_backend.kit.database import Database
from weir_backend.models import AuditEntry, Role, User
from weir_backend.settings import Settings

OIDC = f"{SESSION}/oidc"


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[FakeProvider]:
    with running_provider() as found:
        yield found


@pytest.fixture
def provider(shared_provider: FakeProvider) -> FakeProvider:
    shared_provider.reset()
    return shared_provider


@pytest.fixture
def client(settings: Settings, tasks: RecordedTasks, provider: FakeProvider) -> Iterator[TestClient]:
    configured = settings.model_copy(
        update={
            "oidc_issuer": AnyHttpUrl(provider.issuer),
            "oidc_client_id": CLIENT,
            "oidc_client_secret": SecretStr(SECRET),
            "oidc_users_without_role": "viewer",
        }
    )
    with TestClient(create_app(configured, tasks), raise_server_exceptions=False, follow_redirects=False) as opened:
        yield opened


def log_in(client: TestClient, provider: FakeProvider) -> Response:
    """Follow the redirects to the provider and back, as a browser does."""
    redirect = client.get(OIDC)
    assert redirect.status_code == 302, redirect.text
    code, state = provider.authorize(redirect.headers["location"])
    return client.get(f"{OIDC}/callback", params={"code": code, "state": state})


def is_refused(answer: Response) -> bool:
    return (
        answer.status_code == 401
        and answer.json()["code"] == "oidc-refused"
        and "weir_session" not in answer.headers.get("set-cookie", "")
    )


def test_oidc_login_returns_not_found_if_no_provider_is_configured(settings: Settings, tasks: RecordedTasks) -> None:
    with TestClient(create_app(settings, tasks)) as client:
        for path in (OIDC, f"{OIDC}/callback"):
            answer = client.get(path)
            assert answer.status_code == 404 and answer.json()["code"] == "oidc-not-configured"


def test_the_removed_setting_of_new_users_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_OIDC_NEW_USERS", "viewer")
    with pytest.raises(ValidationError, match="replaced by WEIR_OIDC_USERS_WITHOUT_ROLE"):
        Settings()


def test_the_login_status_names_the_provider_to_unauthenticated_callers(
    client: TestClient, settings: Settings, tasks: RecordedTasks, provider: FakeProvider
) -> None:
    shown = client.get(LOGIN_STATUS).json()["oidc"]
    assert shown == {"name": "127.0.0.1", "login_path": OIDC}
    assert client.get(shown["login_path"]).headers["location"].startswith(provider.issuer)
    issuer = {"oidc_issuer": AnyHttpUrl(provider.issuer)}
    for more, expected in (
        ({"oidc_client_id": CLIENT, "oidc_name": "Example Inc."}, {"name": "Example Inc.", "login_path": OIDC}),
        ({}, None),
    ):
        with TestClient(create_app(settings.model_copy(update=issuer | more), tasks)) as other:
            assert other.get(LOGIN_STATUS).json() == {"session": None, "oidc": expected}


def test_a_new_user_becomes_a_viewer(client: TestClient, provider: FakeProvider, database: Database) -> None:
    answer = log_in(client, provider)
    assert answer.status_code == 302 and answer.headers["location"] == "/"
    cookies = answer.headers.get_list("set-cookie")
    assert "HttpOnly" in cookies[0] and "SameSite=strict" in cookies[0] and 'weir_oidc=""' in cookies[1]
    seen = client.get(SESSION).json()
    assert (seen["name"], seen["role"], seen["has_password"]) == ("james", "viewer", False)
    assert audit_entries(database) == [("weir", "create", "user"), ("james", "log-in", "session")]
    log_in(client, provider)
    assert client.get(SESSION).json()["user_id"] == seen["user_id"], "a user of the provider gets the same account at every login"


def without_default_role(client: TestClient) -> None:
    """Set ``oidc_users_without_role`` to its default, so that the API refuses users without a role."""
    change_settings(client.app, oidc_users_without_role="refused")


def is_refused_for_lack_of_a_role(answer: Response) -> bool:
    return answer.status_code == 403 and answer.json()["code"] == "no-role" and "weir_role" in answer.json()["detail"]


@pytest.mark.parametrize("claim", [None, "root", [], ["x", 1], 7])
def test_without_a_default_role_a_new_user_needs_a_role_from_the_provider(
    client: TestClient, provider: FakeProvider, database: Database, claim: Any
) -> None:
    without_default_role(client)
    provider.claims["weir_role"] = claim
    assert is_refused_for_lack_of_a_role(log_in(client, provider))
    with database.session() as session:
        assert session.scalars(select(User)).all() == []
    provider.claims["weir_role"] = "operator"
    assert log_in(client, provider).status_code == 302


@pytest.mark.parametrize("claim", [None, "root"])
def test_without_a_default_role_a_user_whose_role_was_removed_loses_all_access_at_the_next_login(
    client: TestClient, provider: FakeProvider, database: Database, login: Login, claim: Any
) -> None:
    login()
    without_default_role(client)
    provider.claims["weir_role"] = "admin"
    log_in(client, provider)
    user_id = client.get(SESSION).json()["user_id"]
    with database.session() as session:
        session.execute(update(User).where(User.id == user_id).values(rollback=True))
    made = client.post(
        "/api/v1/tokens", json={"name": "CI", "role": "admin", "expires_in_days": 30}, headers={"Sec-Fetch-Site": "same-origin"}
    )
    bearer = {"Authorization": f"Bearer {made.json()['token']}"}
    assert client.get("/api/v1/users", headers=bearer).status_code == 200

    provider.claims["weir_role"] = claim
    assert is_refused_for_lack_of_a_role(log_in(client, provider))
    assert client.get(SESSION).status_code == 401 and client.get(SESSION, headers=bearer).status_code == 401
    with database.session() as session:
        entry = session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc()).limit(1)).one()
        assert entry.action == "update" and entry.resource_id == user_id
        assert entry.before == {"role": "admin", "rollback": True}
        assert entry.after == {"role": "viewer", "rollback": False, "tokens": "revoked", "by": "OpenID Connect"}

    provider.claims["weir_role"] = "operator"
    assert log_in(client, provider).status_code == 302
    assert client.get(SESSION).json()["permissions"] == ["operate", "view"], "the permission to roll back does not return"
    assert client.get(SESSION, headers=bearer).status_code == 401


def test_if_administrators_manage_the_roles_in_weir_a_login_does_not_change_the_role(
    client: TestClient, provider: FakeProvider, database: Database
) -> None:
    change_settings(client.app, oidc_role_claim="")
    provider.claims["weir_role"] = "admin"
    log_in(client, provider)
    assert client.get(SESSION).json()["role"] == "viewer"
    with database.session() as session:
        session.execute(update(User).where(User.name == "james").values(role=Role.OPERATOR))
    log_in(client, provider)
    assert client.get(SESSION).json()["role"] == "operator"
    without_default_role(client)
    assert log_in(client, provider).status_code == 302, "the user has the role that an administrator has set"
    provider.claims["sub"] = "008"
    answer = log_in(client, provider)
    assert answer.status_code == 403 and answer.json()["code"] == "no-role"


def test_the_state_cookie_is_hidden_from_scripts_and_other_sites(client: TestClient) -> None:
    cookie = client.get(OIDC).headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Path=/api/v1/session/oidc", "Max-Age=600"))


@pytest.mark.parametrize(
    ("claim", "role"),
    [
        ("admin", Role.ADMIN),
        (["viewer", "operator"], Role.OPERATOR),
        ("root", Role.VIEWER),
        (["x", 1], Role.VIEWER),
        (7, Role.VIEWER),
    ],
)
def test_each_login_sets_the_role_that_the_provider_reports(
    client: TestClient, provider: FakeProvider, database: Database, login: Login, claim: Any, role: Role
) -> None:
    login()
    log_in(client, provider)
    with database.session() as session:
        session.execute(update(User).where(User.name == "james").values(role=Role.ADMIN))
    provider.claims["weir_role"] = claim
    log_in(client, provider)
    assert client.get(SESSION).json()["role"] == role
    del provider.claims["weir_role"]
    log_in(client, provider)
    assert client.get(SESSION).json()["role"] == "viewer", "a user without a role claim gets the default role"


def test_a_lower_role_limits_the_api_tokens_of_the_user_at_once(client: TestClient, provider: FakeProvider, login: Login) -> None:
    login()
    provider.claims["weir_role"] = "admin"
    log_in(client, provider)
    made = client.post(
        "/api/v1/tokens", json={"name": "CI", "role": "admin", "expires_in_days": 30}, headers={"Sec-Fetch-Site": "same-origin"}
    )
    earlier_session = client.cookies.get("weir_session")
    provider.claims["weir_role"] = "viewer"
    log_in(client, provider)
    client.cookies.clear()
    for token in (made.json()["token"], earlier_session):
        bearer = {"Authorization": f"Bearer {token}"}
        assert client.get(SESSION, headers=bearer).json()["permissions"] == ["view"]
        assert client.get("/api/v1/users", headers=bearer).status_code == 403


@pytest.mark.parametrize("claim", ["viewer", None])
def test_the_provider_cannot_demote_the_last_administrator(client: TestClient, provider: FakeProvider, claim: Any) -> None:
    without_default_role(client)
    provider.claims["weir_role"] = "admin"
    log_in(client, provider)
    provider.claims["weir_role"] = claim
    log_in(client, provider)
    assert client.get(SESSION).json()["role"] == "admin"


def test_a_provider_user_with_the_name_of_an_existing_account_gets_a_separate_account(
    client: TestClient, provider: FakeProvider, database: Database
) -> None:
    james = create_user(database, "james", Role.ADMIN)
    log_in(client, provider)
    seen = client.get(SESSION).json()
    assert seen["user_id"] != james and seen["name"] == "james@127.0.0.1" and seen["role"] == "viewer"


@pytest.mark.parametrize("name", ["weir", "a\x00b", "x" * 200, "", 7, ["a"], "<script>"])
def test_an_invalid_user_name_from_the_provider_is_replaced(client: TestClient, provider: FakeProvider, name: Any) -> None:
    provider.claims["preferred_username"] = name
    assert log_in(client, provider).status_code == 302
    assert client.get(SESSION).json()["name"] in ("007@127.0.0.1", "weir@127.0.0.1")


def test_a_disabled_account_cannot_log_in(client: TestClient, provider: FakeProvider, database: Database) -> None:
    log_in(client, provider)
    with database.session() as session:
        session.execute(update(User).values(disabled=True))
    assert log_in(client, provider).status_code == 403


def with_claims(**claims: Any) -> Callable[[FakeProvider], None]:
    return lambda provider: provider.claims.update(claims)


def base64url(value: dict[str, Any] | bytes) -> str:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def unsigned(provider: FakeProvider) -> None:
    provider.sign = lambda claims: f"{base64url({'alg': 'none', 'kid': 'first'})}.{base64url(claims)}."


def signed_with_the_public_key(provider: FakeProvider) -> None:
    def sign(claims: dict[str, Any]) -> str:
        signed = f"{base64url({'alg': 'HS256', 'kid': 'first'})}.{base64url(claims)}"
        return f"{signed}.{base64url(hmac.digest(provider.key.as_pem(private=False), signed.encode(), 'sha256'))}"

    provider.sign = sign


def signed_with_another_key(provider: FakeProvider) -> None:
    other = RSAKey.generate_key(2048)
    provider.sign = lambda claims: provider.signed(claims, key=other)


def unknown_key(provider: FakeProvider) -> None:
    provider.sign = lambda claims: provider.signed(claims, {"alg": "RS256", "kid": "unknown"})


def tampered(provider: FakeProvider) -> None:
    def sign(claims: dict[str, Any]) -> str:
        header, _, signature = provider.signed(claims).split(".")
        other = provider.signed({**claims, "sub": "root"}).split(".")[1]
        return f"{header}.{other}.{signature}"

    provider.sign = sign


def critical(provider: FakeProvider) -> None:
    def sign(claims: dict[str, Any]) -> str:
        signed = f"{base64url({'alg': 'RS256', 'kid': 'first', 'crit': ['x'], 'x': 1})}.{base64url(claims)}"
        assert provider.key.private_key is not None
        signature = provider.key.private_key.sign(signed.encode(), PKCS1v15(), SHA256())
        return f"{signed}.{base64url(signature)}"

    provider.sign = sign


def with_token(token: str) -> Callable[[FakeProvider], None]:
    def attack(provider: FakeProvider) -> None:
        provider.sign = lambda _: token

    return attack


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(with_claims(nonce="another"), id="wrong nonce"),
        pytest.param(with_claims(nonce=None), id="no nonce"),
        pytest.param(with_claims(nonce=["another"]), id="several nonces"),
        pytest.param(with_claims(aud="another client"), id="wrong audience"),
        pytest.param(with_claims(aud=None), id="no audience"),
        pytest.param(with_claims(aud=[CLIENT, "another client"]), id="several audiences without azp"),
        pytest.param(with_claims(azp="another client"), id="wrong azp"),
        pytest.param(with_claims(iss="https://evil.example"), id="wrong issuer"),
        pytest.param(with_claims(exp=int(time.time()) - 120), id="expired"),
        pytest.param(with_claims(exp=None), id="no expiry"),
        pytest.param(with_claims(exp="tomorrow"), id="invalid expiry"),
        pytest.param(with_claims(iat=int(time.time()) + 3600), id="issued in the future"),
        pytest.param(with_claims(sub=None), id="no subject"),
        pytest.param(with_claims(sub=""), id="empty subject"),
        pytest.param(with_claims(sub="a\x00b"), id="subject with a null byte"),
        pytest.param(unsigned, id="alg none"),
        pytest.param(signed_with_the_public_key, id="public key as shared key"),
        pytest.param(signed_with_another_key, id="signed with another key"),
        pytest.param(unknown_key, id="unknown kid"),
        pytest.param(tampered, id="tampered claims"),
        pytest.param(critical, id="unknown critical header"),
        pytest.param(with_token("no.token"), id="two parts"),
        pytest.param(with_token("a.b.c"), id="not JSON"),
        pytest.param(with_token("ü.é.☃"), id="not ASCII"),
        pytest.param(with_token(""), id="empty token"),
        pytest.param(with_token("e30." * 2 + "e30"), id="empty header"),
    ],
)
def test_an_invalid_identity_token_is_refused(
    client: TestClient, provider: FakeProvider, database: Database, attack: Callable[[FakeProvider], None]
) -> None:
    attack(provider)
    assert is_refused(log_in(client, provider))
    with database.session() as session:
        assert session.scalars(select(User)).all() == []


def test_a_login_response_is_accepted_only_once(client: TestClient, provider: FakeProvider) -> None:
    redirect = client.get(OIDC)
    state_cookie = client.cookies.get("weir_oidc")
    code, state = provider.authorize(redirect.headers["location"])
    assert client.get(f"{OIDC}/callback", params={"code": code, "state": state}).status_code == 302
    client.cookies.clear()
    second_code, _ = provider.authorize(redirect.headers["location"])
    replayed = client.get(
        f"{OIDC}/callback", params={"code": second_code, "state": state}, headers={"Cookie": f"weir_oidc={state_cookie}"}
    )
    assert is_refused(replayed) and "already complete" in replayed.json()["detail"]


def test_a_response_to_the_login_of_another_browser_is_refused(client: TestClient, provider: FakeProvider) -> None:
    code, state = provider.authorize(client.get(OIDC).headers["location"])
    # The victim starts another login. The state of the victim's login differs from the state in the attacker's response.
    client.get(OIDC)
    assert is_refused(client.get(f"{OIDC}/callback", params={"code": code, "state": state}))
    client.cookies.clear()
    assert is_refused(client.get(f"{OIDC}/callback", params={"code": code, "state": state}))


def test_an_expired_or_wrongly_signed_state_cookie_is_refused(
    client: TestClient, provider: FakeProvider, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    login_state = flow.begin()
    other = flow.sign_state(
        settings.model_copy(update={"secret_key": SecretStr("another key of the required length")}), login_state
    )
    with monkeypatch.context() as before:
        before.setattr(flow, "STATE_S", -1)
        old = flow.sign_state(settings, login_state)
    for cookie in (other, old, "x", "e30.e30.e30"):
        answer = client.get(
            f"{OIDC}/callback", params={"code": "c", "state": login_state.state}, headers={"Cookie": f"weir_oidc={cookie}"}
        )
        assert is_refused(answer) and "ten minutes" in answer.json()["detail"]
    good = {"Cookie": f"weir_oidc={flow.sign_state(settings, login_state)}"}
    assert (
        "ten minutes"
        not in client.get(f"{OIDC}/callback", params={"code": "c", "state": login_state.state}, headers=good).json()["detail"]
    )


def test_login_is_refused_if_the_user_denies_access_at_the_provider(client: TestClient, provider: FakeProvider) -> None:
    _, state = provider.authorize(client.get(OIDC).headers["location"])
    assert is_refused(client.get(f"{OIDC}/callback", params={"error": "access_denied", "state": state}))


def test_a_response_that_names_another_provider_is_refused(client: TestClient, provider: FakeProvider) -> None:
    code, state = provider.authorize(client.get(OIDC).headers["location"])
    assert is_refused(client.get(f"{OIDC}/callback", params={"code": code, "state": state, "iss": "https://evil.example"}))


def test_an_unknown_authorization_code_is_refused(client: TestClient, provider: FakeProvider) -> None:
    _, state = provider.authorize(client.get(OIDC).headers["location"])
    assert is_refused(client.get(f"{OIDC}/callback", params={"code": "guessed", "state": state}))


def test_an_unknown_key_id_causes_a_new_fetch_of_the_keys_only_after_a_minimum_interval(
    client: TestClient, provider: FakeProvider
) -> None:
    assert log_in(client, provider).status_code == 302
    unknown_key(provider)
    for _ in range(3):
        assert is_refused(log_in(client, provider))
    assert provider.requested_paths.count("/keys") == 1, "the keys were fetched a moment ago"
    client.app.state.oidc_provider._keys_from_s = 0.0  # type: ignore[attr-defined]  # the minimum interval has passed
    new = RSAKey.generate_key(2048, {"kid": "second"})
    provider.published_keys = [provider.key, new]
    provider.sign = lambda claims: provider.signed(claims, {"alg": "PS256", "kid": "second"}, new)
    assert log_in(client, provider).status_code == 302
    assert (
        provider.requested_paths.count("/keys") == 2 and provider.requested_paths.count("/.well-known/openid-configuration") == 1
    )


def test_a_token_header_with_additional_fields_is_accepted(client: TestClient, provider: FakeProvider) -> None:
    def sign(claims: dict[str, Any]) -> str:
        registry = jws.JWSRegistry(algorithms=["RS256"], strict_check_header=False)
        return jws.serialize_compact(
            {"alg": "RS256", "kid": "first", "tenant": "x"}, json.dumps(claims), provider.key, registry=registry
        )

    provider.sign = sign
    assert log_in(client, provider).status_code == 302


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": None},
        {"token_endpoint": "ftp://127.0.0.1/"},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_login_fails_if_the_discovery_document_of_the_provider_is_invalid(
    client: TestClient, provider: FakeProvider, document: dict[str, Any]
) -> None:
    provider.document.update(document)
    answer = client.get(OIDC)
    assert answer.status_code == 503 and answer.json()["code"] == "oidc-provider"
    assert client.get(OIDC).status_code == 503 and len(provider.requested_paths) == 1, (
        "the discovery document is not requested again immediately"
    )


@pytest.mark.parametrize(
    "keys", [{}, {"keys": 1}, {"keys": [1]}, {"keys": [{"kty": "RSA"}]}, {"keys": [{"kty": "RSA", "n": 1, "e": 2}]}]
)
def test_login_fails_if_the_keys_of_the_provider_are_invalid(
    client: TestClient, provider: FakeProvider, keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "keys", lambda: keys)
    assert log_in(client, provider).status_code in (401, 503)


def test_an_unreachable_provider_is_reported(settings: Settings) -> None:
    provider = Provider("http://127.0.0.1:1")
    with pytest.raises(Unavailable, match="does not answer"):
        provider.document()
