"""HTTP client of the OpenID Connect provider: discovery document, keys and identity tokens."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httpx2
import structlog
from joserfc.errors import JoseError
from joserfc.jwk import Key, KeySet, KeySetSerialization

from weir_backend.errors import Unauthenticated, Unavailable
from weir_backend.settings import Settings

log = structlog.get_logger(__name__)
OIDC_PATH = "/api/v1/session/oidc"
TIMEOUT_S = 5.0
ANSWER_BYTES_MAX = 1 << 20
DOCUMENT_CACHE_S = 3600.0
DOCUMENT_RETRY_S = 2.0
"""If the configuration document of the provider cannot be read, the API refuses all logins for the next ``DOCUMENT_RETRY_S`` seconds and
sends no request to the provider. If the API sent a request for each login, each login would also wait for the timeouts of earlier logins."""
KEYS_REFRESH_S = 30.0
"""The minimum time between two downloads of the keys of the provider. A token with an unknown key id causes a download, and an
attacker can choose key ids."""


def oidc_display_name(settings: Settings) -> str | None:
    """Return the display name of the provider, or None if OpenID Connect is not configured."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    return settings.oidc_name or settings.oidc_issuer.host or str(settings.oidc_issuer)


class Provider:
    """The OpenID Connect provider of an installation. Thread-safe."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer.rstrip("/")
        self._lock = threading.Lock()
        self._document: Mapping[str, Any] | None = None
        self._document_from_s = self._document_until_s = 0.0
        self._keys = KeySet([])
        self._keys_from_s = 0.0

    def document(self) -> Mapping[str, Any]:
        """Raises Unavailable."""
        with self._lock:
            if self._document is None or time.monotonic() >= self._document_until_s:
                if time.monotonic() < self._document_from_s:
                    raise _unusable("the last response was an error", "")
                try:
                    self._document = self._checked(self._json("GET", f"{self._issuer}/.well-known/openid-configuration"))
                except Unavailable:
                    self._document_from_s = time.monotonic() + DOCUMENT_RETRY_S
                    raise
                self._document_until_s = time.monotonic() + DOCUMENT_CACHE_S
            return self._document

    def key(self, key_id: str | None) -> Key | None:
        """Return the key ``key_id``, or None if the provider does not publish this key. If the key is not in the last download, the
        keys are downloaded again, unless the last download was less than ``KEYS_REFRESH_S`` ago. Raises Unavailable."""
        address = self.document()["jwks_uri"]
        with self._lock:
            found = _find(self._keys, key_id)
            if found is None and time.monotonic() >= self._keys_from_s:
                self._keys_from_s = time.monotonic() + KEYS_REFRESH_S
                try:
                    self._keys = KeySet.import_key_set(cast(KeySetSerialization, self._json("GET", address)))
                except (JoseError, ValueError, KeyError, TypeError, AttributeError) as error:
                    raise _unusable("the keys of the provider cannot be read", type(error).__name__) from None
                found = _find(self._keys, key_id)
            return found

    def identity_token(self, form: dict[str, str], client_id: str, client_secret: str | None) -> str:
        """Exchange the code in ``form`` for an identity token. Raises Unauthenticated if the token endpoint rejects the request
        (with any 4xx status), and Unavailable if the provider is not usable."""
        document = self.document()
        authentication = None
        if client_secret is None:
            form = {**form, "client_id": client_id}
        elif "client_secret_basic" in document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]):
            # RFC 6749, 2.3.1: form-encode the client id and the secret first.
            authentication = httpx2.BasicAuth(quote(client_id, safe=""), quote(client_secret, safe=""))
        else:
            form = {**form, "client_id": client_id, "client_secret": client_secret}
        answer = self._json("POST", document["token_endpoint"], form, authentication)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise _unusable("the response contains no identity token", "")
        return token

    def _checked(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        if not isinstance(document.get("issuer"), str) or document["issuer"].rstrip("/") != self._issuer:
            raise _unusable("the issuer differs from the configured issuer", str(document.get("issuer"))[:200])
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if urlsplit(str(document.get(name))).scheme not in ("https", urlsplit(self._issuer).scheme):
                raise _unusable(f"the {name} is missing or does not use HTTPS", str(document.get(name))[:200])
        return document

    def _json(
        self, method: str, address: str, form: dict[str, str] | None = None, authentication: httpx2.BasicAuth | None = None
    ) -> dict[str, Any]:
        # Request and response may contain secrets, so errors and logs omit them.
        until_s = time.monotonic() + TIMEOUT_S
        content = bytearray()
        try:
            with (
                httpx2.Client(timeout=TIMEOUT_S, follow_redirects=False, headers={"Accept": "application/json"}) as client,
                client.stream(method, address, data=form, auth=authentication) as answer,
            ):
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > ANSWER_BYTES_MAX or time.monotonic() > until_s:
                        raise _unusable("the response is too large or too slow", address)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _unusable("it does not answer", type(error).__name__) from None
        if form is not None and 400 <= answer.status_code < 500:
            log.warning("the token endpoint of the OpenID Connect provider rejected the request", status=answer.status_code)
            raise Unauthenticated("oidc-refused", "The OpenID Connect provider did not confirm this login.", "Log in again.")
        if answer.status_code != 200:
            raise _unusable("it returned an error", str(answer.status_code))
        try:
            found = json.loads(content)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise _unusable("the response is not a JSON object", address)
        return found


def _find(keys: KeySet, key_id: str | None) -> Key | None:
    usable = [key for key in keys if key.as_dict().get("use", "sig") == "sig"]
    if key_id is None:
        return usable[0] if len(usable) == 1 else None
    return next((key for key in usable if key.kid == key_id), None)


def _unusable(what: str, more: str) -> Unavailable:
    log.error("the OpenID Connect provider failed", problem=what, more=more)
    return Unavailable(
        "oidc-provider", f"The OpenID Connect provider is not usable: {what}.", "Retry, or contact an administrator."
    )
