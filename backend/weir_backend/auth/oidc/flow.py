"""One log-in from its beginning to the claims that are believed. No database, and no HTTP but through ``Provider``."""

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
CLOCKS_DIFFER_S = 60
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""Of public keys only: with a shared key whoever can check a token could make one. Never ``none``."""

_HEADERS = jws.JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
"""Providers put more into the header than the standard names; what is marked critical there is refused all the same."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What the browser keeps in a signed cookie while it is away at the provider."""

    state: str
    nonce: str
    verifier: str


def begin() -> Begun:
    return Begun(*(secrets.token_urlsafe(32) for _ in range(3)))


def callback_address(settings: Settings) -> str:
    return str(settings.public_url).rstrip("/") + "/api/v1/session/oidc/callback"


def provider_address(settings: Settings, provider: Provider, begun: Begun) -> str:
    """Where the browser goes. Raises Unavailable."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).rstrip(b"=").decode()
    query = urlencode(
        {
            "response_type": "code",
            "client_id": settings.oidc_client_id,
            "redirect_uri": callback_address(settings),
            "scope": "openid profile email",
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
    )
    parts = urlsplit(str(provider.document()["authorization_endpoint"]))
    return urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))


def sealed(settings: Settings, begun: Begun) -> str:
    claims = {"state": begun.state, "nonce": begun.nonce, "verifier": begun.verifier, "exp": int(time.time()) + STATE_S}
    return jwt.encode({"alg": "HS256"}, claims, _key(settings), algorithms=["HS256"])


def opened(settings: Settings, cookie: str | None, state: str | None) -> Begun:
    """Raises Unauthenticated unless the cookie is ours, young, and of this ``state``."""
    try:
        claims = jwt.decode(cookie or "", _key(settings), algorithms=["HS256"]).claims
        jwt.JWTClaimsRegistry(exp={"essential": True}).validate(claims)
        begun = Begun(claims["state"], claims["nonce"], claims["verifier"])
    except (JoseError, ValueError, KeyError):
        raise refused("there is no log-in of this browser that began within the last ten minutes") from None
    if state is None or not hmac.compare_digest(begun.state.encode(), state.encode()):
        raise refused("the answer belongs to another log-in")
    return begun


def claims_of(settings: Settings, provider: Provider, begun: Begun, code: str) -> dict[str, Any]:
    """Of the identity token for ``code``, verified. Raises Unauthenticated, Unavailable."""
    assert settings.oidc_client_id is not None
    secret = settings.oidc_client_secret.get_secret_value() if settings.oidc_client_secret is not None else None
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": callback_address(settings),
        "code_verifier": begun.verifier,
    }
    token = provider.identity_token(form, settings.oidc_client_id, secret)
    return verified(provider, token, client_id=settings.oidc_client_id, nonce=begun.nonce)


def verified(provider: Provider, token: str, *, client_id: str, nonce: str) -> dict[str, Any]:
    """The claims (OpenID Connect Core 3.1.3.7). Raises Unauthenticated, Unavailable."""
    registry = jwt.JWTClaimsRegistry(
        leeway=CLOCKS_DIFFER_S,
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
            raise refused("the identity token is not signed in a way that we take")
        key = provider.key(header.get("kid"))
        if key is None:
            raise refused("the identity token is signed with a key that the provider does not have")
        claims = jwt.decode(token, key, algorithms=ALGORITHMS, registry=_HEADERS).claims
        registry.validate(claims)
    except (JoseError, ValueError, TypeError) as error:
        raise refused(f"the identity token is not valid ({getattr(error, 'error', 'unreadable')})") from None
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else client_id) != client_id:
        raise refused("the identity token was made for somebody else")
    # The library takes a list where it is told a text: an issuer or a nonce is one text.
    if claims["nonce"] != nonce or not 0 < len(claims["sub"]) <= 255 or not claims["sub"].isprintable():
        raise refused("the identity token is not valid")
    return claims


def refused(why: str) -> Unauthenticated:
    log.warning("a log-in by OpenID Connect was refused", why=why)
    return Unauthenticated("oidc-refused", why, "log in again")


def _key(settings: Settings) -> OctKey:
    # Of its own: nothing that is signed for another purpose can be taken for a state.
    return OctKey.import_key(hmac.digest(settings.secret_key.get_secret_value().encode(), b"weir oidc state", "sha256"))
