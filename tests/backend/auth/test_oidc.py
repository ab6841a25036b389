"""Login by OpenID Connect against a fake provider, and attacks on it."""

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
from pydantic import AnyHttpUrl, SecretStr
from sqlalchemy import select, update
from tests.backend.auth.oidc_provider import CLIENT, SECRET, FakeProvider, running_provider
from tests.backend.auth.users import LOGIN_STATUS, SESSION, audited, person
from tests.backend.conftest import Login, RecordedTasks

from weir_backend.app import create_app
from weir_backend.auth.oidc import flow
from weir_backend.auth.oidc.provider import Provider
from weir_backend.errors import Unavailable
from weir_backend.kit.database import Database
from weir_backend.models import Role, User
from weir_backend.settings import Settings

OIDC = f"{SESSION}/oidc"


@pytest.fixture(scope="module")
def one_provider() -> Iterator[FakeProvider]:
    with running_provider() as found:
        yield found


@pytest.fixture
def provider(one_provider: FakeProvider) -> FakeProvider:
    one_provider.reset()
    return one_provider


@pytest.fixture
def client(settings: Settings, tasks: RecordedTasks, provider: FakeProvider) -> Iterator[TestClient]:
    configured = settings.model_copy(
        update={
            "oidc_issuer": AnyHttpUrl(provider.issuer),
            "oidc_client_id": CLIENT,
            "oidc_client_secret": SecretStr(SECRET),
            "oidc_new_users": "viewer",
        }
    )
    with TestClient(create_app(configured, tasks), raise_server_exceptions=False, follow_redirects=False) as opened:
        yield opened


def log_in(client: TestClient, provider: FakeProvider) -> Response:
    """Follow the redirects to the provider and back, as a browser does."""
    away = client.get(OIDC)
    assert away.status_code == 302, away.text
    code, state = provider.authorize(away.headers["location"])
    return client.get(f"{OIDC}/callback", params={"code": code, "state": state})


def refused(answer: Response) -> bool:
    return (
        answer.status_code == 401
        and answer.json()["code"] == "oidc-refused"
        and "weir_session" not in answer.headers.get("set-cookie", "")
    )


def test_without_a_provider_oidc_login_does_not_exist(settings: Settings, tasks: RecordedTasks) -> None:
    with TestClient(create_app(settings, tasks)) as client:
        for path in (OIDC, f"{OIDC}/callback"):
            answer = client.get(path)
            assert answer.status_code == 404 and answer.json()["code"] == "oidc-not-configured"


def test_the_provider_is_shown_to_visitors_and_login_redirects_to_it(
    client: TestClient, settings: Settings, tasks: RecordedTasks, provider: FakeProvider
) -> None:
    oidc = client.get(LOGIN_STATUS).json()["oidc"]
    assert oidc == {"name": "127.0.0.1", "login_path": OIDC}
    assert client.get(oidc["login_path"]).headers["location"].startswith(provider.issuer)
    issuer = {"oidc_issuer": AnyHttpUrl(provider.issuer)}
    for more, told in (
        ({"oidc_client_id": CLIENT, "oidc_name": "Example Inc."}, {"name": "Example Inc.", "login_path": OIDC}),
        ({}, None),
    ):
        with TestClient(create_app(settings.model_copy(update=issuer | more), tasks)) as other:
            assert other.get(LOGIN_STATUS).json() == {"session": None, "oidc": told}


def test_a_new_user_becomes_a_viewer(client: TestClient, provider: FakeProvider, database: Database) -> None:
    answer = log_in(client, provider)
    assert answer.status_code == 302 and answer.headers["location"] == "/"
    cookies = answer.headers.get_list("set-cookie")
    assert "HttpOnly" in cookies[0] and "SameSite=strict" in cookies[0] and 'weir_oidc=""' in cookies[1]
    seen = client.get(SESSION).json()
    assert (seen["name"], seen["role"], seen["has_password"]) == ("james", "viewer", False)
    assert audited(database) == [("weir", "create", "user"), ("james", "log-in", "session")]
    log_in(client, provider)
    assert client.get(SESSION).json()["user_id"] == seen["user_id"], "the same, the second time"


def test_a_new_user_without_a_role_is_refused_unless_configured(
    settings: Settings, tasks: RecordedTasks, provider: FakeProvider
) -> None:
    configured = settings.model_copy(
        update={"oidc_issuer": AnyHttpUrl(provider.issuer), "oidc_client_id": CLIENT, "oidc_client_secret": SecretStr(SECRET)}
    )
    with TestClient(create_app(configured, tasks), follow_redirects=False) as client:
        answer = log_in(client, provider)
        assert answer.status_code == 403 and answer.json()["code"] == "unknown-user"
        provider.claims["weir_role"] = "operator"
        assert log_in(client, provider).status_code == 302


def test_the_state_cookie_is_hidden_from_scripts_and_other_sites(client: TestClient) -> None:
    cookie = client.get(OIDC).headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Path=/api/v1/session/oidc", "Max-Age=600"))


@pytest.mark.parametrize(
    ("said", "role"),
    [
        ("admin", Role.ADMIN),
        (["viewer", "operator"], Role.OPERATOR),
        ("root", Role.VIEWER),
        (["x", 1], Role.VIEWER),
        (7, Role.VIEWER),
    ],
)
def test_the_role_follows_the_provider(
    client: TestClient, provider: FakeProvider, database: Database, login: Login, said: Any, role: Role
) -> None:
    login()
    log_in(client, provider)
    with database.session() as session:
        session.execute(update(User).where(User.name == "james").values(role=Role.ADMIN))
    provider.claims["weir_role"] = said
    log_in(client, provider)
    assert client.get(SESSION).json()["role"] == role
    del provider.claims["weir_role"]
    log_in(client, provider)
    assert client.get(SESSION).json()["role"] == role, "who says nothing changes nothing"


def test_the_provider_cannot_demote_the_last_administrator(client: TestClient, provider: FakeProvider) -> None:
    provider.claims["weir_role"] = "admin"
    log_in(client, provider)
    provider.claims["weir_role"] = "viewer"
    log_in(client, provider)
    assert client.get(SESSION).json()["role"] == "admin"


def test_a_name_chosen_at_the_provider_does_not_take_over_an_account(
    client: TestClient, provider: FakeProvider, database: Database
) -> None:
    james = person(database, "james", Role.ADMIN)
    log_in(client, provider)
    seen = client.get(SESSION).json()
    assert seen["user_id"] != james and seen["name"] == "james@127.0.0.1" and seen["role"] == "viewer"


@pytest.mark.parametrize("name", ["weir", "a\x00b", "x" * 200, "", 7, ["a"], "<script>"])
def test_an_invalid_name_is_replaced(client: TestClient, provider: FakeProvider, name: Any) -> None:
    provider.claims["preferred_username"] = name
    assert log_in(client, provider).status_code == 302
    assert client.get(SESSION).json()["name"] in ("007@127.0.0.1", "weir@127.0.0.1")


def test_a_disabled_account_cannot_log_in(client: TestClient, provider: FakeProvider, database: Database) -> None:
    log_in(client, provider)
    with database.session() as session:
        session.execute(update(User).values(disabled=True))
    assert log_in(client, provider).status_code == 403


def bent(**claims: Any) -> Callable[[FakeProvider], None]:
    return lambda provider: provider.claims.update(claims)


def part(value: dict[str, Any] | bytes) -> str:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def unsigned(provider: FakeProvider) -> None:
    provider.sign = lambda claims: f"{part({'alg': 'none', 'kid': 'first'})}.{part(claims)}."


def signed_with_the_public_key(provider: FakeProvider) -> None:
    def sign(claims: dict[str, Any]) -> str:
        signed = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(claims)}"
        return f"{signed}.{part(hmac.digest(provider.key.as_pem(private=False), signed.encode(), 'sha256'))}"

    provider.sign = sign


def signed_by_somebody_else(provider: FakeProvider) -> None:
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
        signed = f"{part({'alg': 'RS256', 'kid': 'first', 'crit': ['x'], 'x': 1})}.{part(claims)}"
        assert provider.key.private_key is not None
        signature = provider.key.private_key.sign(signed.encode(), PKCS1v15(), SHA256())
        return f"{signed}.{part(signature)}"

    provider.sign = sign


def says(token: str) -> Callable[[FakeProvider], None]:
    def attack(provider: FakeProvider) -> None:
        provider.sign = lambda _: token

    return attack


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(bent(nonce="another"), id="wrong nonce"),
        pytest.param(bent(nonce=None), id="no nonce"),
        pytest.param(bent(nonce=["another"]), id="several nonces"),
        pytest.param(bent(aud="somebody else"), id="wrong audience"),
        pytest.param(bent(aud=None), id="no audience"),
        pytest.param(bent(aud=[CLIENT, "somebody else"]), id="several audiences, for none in particular"),
        pytest.param(bent(azp="somebody else"), id="made for somebody else"),
        pytest.param(bent(iss="https://evil.example"), id="wrong issuer"),
        pytest.param(bent(exp=int(time.time()) - 120), id="expired"),
        pytest.param(bent(exp=None), id="never expires"),
        pytest.param(bent(exp="tomorrow"), id="expires at no time"),
        pytest.param(bent(iat=int(time.time()) + 3600), id="of the future"),
        pytest.param(bent(sub=None), id="of nobody"),
        pytest.param(bent(sub=""), id="of an empty name"),
        pytest.param(bent(sub="a\x00b"), id="of a name that cannot be kept"),
        pytest.param(unsigned, id="alg none"),
        pytest.param(signed_with_the_public_key, id="public key as shared key"),
        pytest.param(signed_by_somebody_else, id="another key"),
        pytest.param(unknown_key, id="unknown kid"),
        pytest.param(tampered, id="tampered"),
        pytest.param(critical, id="critical header"),
        pytest.param(says("no.token"), id="two parts"),
        pytest.param(says("a.b.c"), id="no JSON"),
        pytest.param(says("ü.é.☃"), id="no ASCII"),
        pytest.param(says(""), id="empty"),
        pytest.param(says("e30." * 2 + "e30"), id="empty header"),
    ],
)
def test_an_invalid_identity_token_is_refused(
    client: TestClient, provider: FakeProvider, database: Database, attack: Callable[[FakeProvider], None]
) -> None:
    attack(provider)
    assert refused(log_in(client, provider))
    with database.session() as session:
        assert session.scalars(select(User)).all() == []


def test_a_login_response_is_accepted_once(client: TestClient, provider: FakeProvider) -> None:
    away = client.get(OIDC)
    kept = client.cookies.get("weir_oidc")
    code, state = provider.authorize(away.headers["location"])
    assert client.get(f"{OIDC}/callback", params={"code": code, "state": state}).status_code == 302
    client.cookies.clear()
    again, _ = provider.authorize(away.headers["location"])
    replayed = client.get(f"{OIDC}/callback", params={"code": again, "state": state}, headers={"Cookie": f"weir_oidc={kept}"})
    assert refused(replayed) and "already complete" in replayed.json()["detail"]


def test_the_response_to_another_browsers_login_is_refused(client: TestClient, provider: FakeProvider) -> None:
    code, state = provider.authorize(client.get(OIDC).headers["location"])
    client.get(OIDC)  # the victim's own login, which the attacker's response does not match
    assert refused(client.get(f"{OIDC}/callback", params={"code": code, "state": state}))
    client.cookies.clear()
    assert refused(client.get(f"{OIDC}/callback", params={"code": code, "state": state}))


def test_an_unsigned_or_expired_state_is_refused(
    client: TestClient, provider: FakeProvider, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = flow.begin()
    other = flow.sign_state(settings.model_copy(update={"secret_key": SecretStr("another key, as long as it has to be")}), begun)
    with monkeypatch.context() as before:
        before.setattr(flow, "STATE_S", -1)
        old = flow.sign_state(settings, begun)
    for cookie in (other, old, "x", "e30.e30.e30"):
        answer = client.get(
            f"{OIDC}/callback", params={"code": "c", "state": begun.state}, headers={"Cookie": f"weir_oidc={cookie}"}
        )
        assert refused(answer) and "ten minutes" in answer.json()["detail"]
    good = {"Cookie": f"weir_oidc={flow.sign_state(settings, begun)}"}
    assert (
        "ten minutes"
        not in client.get(f"{OIDC}/callback", params={"code": "c", "state": begun.state}, headers=good).json()["detail"]
    )


def test_a_user_who_does_not_agree_is_not_logged_in(client: TestClient, provider: FakeProvider) -> None:
    _, state = provider.authorize(client.get(OIDC).headers["location"])
    assert refused(client.get(f"{OIDC}/callback", params={"error": "access_denied", "state": state}))


def test_a_response_that_names_another_provider_is_refused(client: TestClient, provider: FakeProvider) -> None:
    code, state = provider.authorize(client.get(OIDC).headers["location"])
    assert refused(client.get(f"{OIDC}/callback", params={"code": code, "state": state, "iss": "https://evil.example"}))


def test_an_unknown_code_is_refused(client: TestClient, provider: FakeProvider) -> None:
    _, state = provider.authorize(client.get(OIDC).headers["location"])
    assert refused(client.get(f"{OIDC}/callback", params={"code": "guessed", "state": state}))


def test_a_new_key_is_fetched_but_not_for_every_unknown_one(client: TestClient, provider: FakeProvider) -> None:
    assert log_in(client, provider).status_code == 302
    unknown_key(provider)
    for _ in range(3):
        assert refused(log_in(client, provider))
    assert provider.asked.count("/keys") == 1, "asked for just before"
    client.app.state.oidc_provider._keys_from_s = 0.0  # type: ignore[attr-defined]  # half a minute later
    new = RSAKey.generate_key(2048, {"kid": "second"})
    provider.published = [provider.key, new]
    provider.sign = lambda claims: provider.signed(claims, {"alg": "PS256", "kid": "second"}, new)
    assert log_in(client, provider).status_code == 302
    assert provider.asked.count("/keys") == 2 and provider.asked.count("/.well-known/openid-configuration") == 1


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
def test_a_provider_with_an_invalid_document_is_not_used(
    client: TestClient, provider: FakeProvider, document: dict[str, Any]
) -> None:
    provider.document.update(document)
    answer = client.get(OIDC)
    assert answer.status_code == 503 and answer.json()["code"] == "oidc-provider"
    assert client.get(OIDC).status_code == 503 and len(provider.asked) == 1, "nor asked again at once"


@pytest.mark.parametrize(
    "keys", [{}, {"keys": 1}, {"keys": [1]}, {"keys": [{"kty": "RSA"}]}, {"keys": [{"kty": "RSA", "n": 1, "e": 2}]}]
)
def test_unreadable_keys_are_reported(
    client: TestClient, provider: FakeProvider, keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "keys", lambda: keys)
    assert log_in(client, provider).status_code in (401, 503)


def test_an_unreachable_provider_is_reported(settings: Settings) -> None:
    provider = Provider("http://127.0.0.1:1")
    with pytest.raises(Unavailable, match="does not answer"):
        provider.document()
