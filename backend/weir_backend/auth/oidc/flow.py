"""The OpenID Connect authorization code flow, from the redirect to the verified claims. The flow uses no database, and sends HTTP
requests only through ``Provider``."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import structlog
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from weir_backend.auth.oidc.provider import Provider
from weir_backend.errors import Unauthenticated
from weir_backend.settings import Settings

log = structlog.get_logger(__name__)
STATE_S = 600
CLOCK_SKEW_S = 60
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""Weir accepts only algorithms with public keys, because with a shared key every verifier could forge tokens. ``none`` is never
accepted."""

_HEADERS = jws.JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
"""The registry accepts unknown header fields, because providers add non-standard fields. The registry still refuses unknown fields
that the token marks as critical."""


@dataclass(frozen=True, slots=True)
class LoginState:
    """The state of a login, which the browser keeps in a signed cookie while the user logs in at the provider."""

    state: str
    nonce: str
    verifier: str


def begin() -> LoginState:
    return LoginState(*(secrets.token_urlsafe(32) for _ in range(3)))


def callback_url(settings: Settings) -> str:
    return str(settings.public_url).rstrip("/") + "/api/v1/session/oidc/callback"


def authorization_url(settings: Settings, provider: Provider, begun: LoginState) -> str:
    """Return the URL of the provider to which the browser is redirected. Raises Unavailable."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).rstrip(b"=").decode()
    query = urlencode(
        {
            "response_type": "code",
            "client_id": settings.oidc_client_id,
            "redirect_uri": callback_url(settings),
            "scope": "openid profile email",
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
    )
    parts = urlsplit(str(provider.document()["authorization_endpoint"]))
    return urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))


def sign_state(settings: Settings, begun: LoginState) -> str:
    claims = {"state": begun.state, "nonce": begun.nonce, "verifier": begun.verifier, "exp": int(time.time()) + STATE_S}
    return jwt.encode({"alg": "HS256"}, claims, _key(settings), algorithms=["HS256"])


def verify_state(settings: Settings, cookie: str | None, state: str | None) -> LoginState:
    """Return the state in the cookie. Raises Unauthenticated if the cookie is not signed by Weir, has expired, or differs from ``state``."""
    try:
        claims = jwt.decode(cookie or "", _key(settings), algorithms=["HS256"]).claims
        jwt.JWTClaimsRegistry(exp={"essential": True}).validate(claims)
        begun = LoginState(claims["state"], claims["nonce"], claims["verifier"])
    except (JoseError, ValueError, KeyError):
        raise refused("This browser has not started a login within the last ten minutes.") from None
    if state is None or not hmac.compare_digest(begun.state.encode(), state.encode()):
        raise refused("The response of the provider belongs to another login.")
    return begun


def claims_of(settings: Settings, provider: Provider, begun: LoginState, code: str) -> dict[str, Any]:
    """Return the verified claims of the identity token for ``code``. Raises Unauthenticated, Unavailable."""
    assert settings.oidc_client_id is not None
    secret = settings.oidc_client_secret.get_secret_value() if settings.oidc_client_secret is not None else None
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": callback_url(settings),
        "code_verifier": begun.verifier,
    }
    token = provider.identity_token(form, settings.oidc_client_id, secret)
    return verify_token(provider, token, client_id=settings.oidc_client_id, nonce=begun.nonce)


def verify_token(provider: Provider, token: str, *, client_id: str, nonce: str) -> dict[str, Any]:
    """Check the token as OpenID Connect Core 3.1.3.7 requires, and return its claims. Raises Unauthenticated, Unavailable."""
    registry = jwt.JWTClaimsRegistry(
        leeway=CLOCK_SKEW_S,
        iss={"essential": True, "value": provider.document()["issuer"]},
        aud={"essential": True, "value": client_id},
        exp={"essential": True},
        iat={"essential": True},
        sub={"essential": True},
        nonce={"essential": True, "value": nonce},
    )
    try:
        header = jws.extract_compact(token.encode(), registry=_HEADERS).headers()
        if header.get("alg") not in ALGORITHMS:
            raise refused("The identity token uses an unsupported signature algorithm.")
        key = provider.key(header.get("kid"))
        if key is None:
            raise refused("The identity token is signed with an unknown key.")
        claims = jwt.decode(token, key, algorithms=ALGORITHMS, registry=_HEADERS).claims
        registry.validate(claims)
    except (JoseError, ValueError, TypeError) as error:
        raise refused(f"The identity token is not valid ({getattr(error, 'error', 'unreadable')}).") from None
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else client_id) != client_id:
        raise refused("The identity token was issued for another client.")
    # The library also accepts lists as values, but a nonce and a subject must be single strings.
    if claims["nonce"] != nonce or not 0 < len(claims["sub"]) <= 255 or not claims["sub"].isprintable():
        raise refused("The identity token is not valid.")
    return claims


def refused(reason: str) -> Unauthenticated:
    log.warning("OpenID Connect login refused", reason=reason)
    return Unauthenticated("oidc-refused", reason, "Log in again.")


def _key(settings: Settings) -> OctKey:
    # The state of a login has its own signing key, so that Weir does not accept data that was signed for another purpose.
    return OctKey.import_key(hmac.digest(settings.secret_key.get_secret_value().encode(), b"weir oidc state", "sha256"))
