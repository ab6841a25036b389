"""Encrypts the values of secrets for the database, with a key that is derived from the secret key of the installation.

The stored form is a JWE (RFC 7516) with AES-256-GCM. Its header contains the name of the secret, so that the value of one secret
cannot be stored under the name of another secret."""

from __future__ import annotations

import hmac

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from weir_backend.settings import Settings

_ALGORITHMS = ["dir", "A256GCM"]


def encrypt(settings: Settings, name: str, value: str) -> str:
    header = {"alg": "dir", "enc": "A256GCM", "kid": name}
    return jwe.encrypt_compact(header, value.encode(), _key(settings), algorithms=_ALGORITHMS)


def decrypt(settings: Settings, name: str, encrypted: str) -> str | None:
    """Return the value of the secret ``name``. Return None if the stored form was encrypted with another key or for another
    name, or was changed."""
    try:
        found = jwe.decrypt_compact(encrypted, _key(settings), algorithms=_ALGORITHMS)
    except (JoseError, ValueError):
        return None
    if found.headers().get("kid") != name or found.plaintext is None:
        return None
    return found.plaintext.decode()


def _key(settings: Settings) -> OctKey:
    return OctKey.import_key(hmac.digest(settings.secret_key.get_secret_value().encode(), b"weir secrets", "sha256"))
