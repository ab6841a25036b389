"""Signatures of webhook messages as defined by https://www.standardwebhooks.com. Receivers can check the signatures with existing
libraries.

Signing keys, and the routing keys of PagerDuty, are in the environment or in files of the workers, never in the database.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path

from weir.errors import ConfigError
from weir_backend.settings import Settings

PREFIX = "whsec_"
KEY_BYTES_MIN = 16
KEYS_DIRECTORY = "webhook-keys"
KEY_CHARACTERS_MAX = 4_096


def headers(message_id: str, sent_at_s: int, body: bytes, key: bytes | None) -> dict[str, str]:
    """Return the headers of one attempt. ``sent_at_s`` is the time of the attempt, in seconds since 1970. The signature covers the time, so
    that an attacker cannot replay an old message as a new message. If ``key`` is None, the message is not signed."""
    result = {"webhook-id": message_id, "webhook-timestamp": str(sent_at_s)}
    if key is not None:
        signed = f"{message_id}.{sent_at_s}.".encode() + body
        signature = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        result["webhook-signature"] = f"v1,{signature}"
    return result


def load_key(reference: str, settings: Settings, environment: Mapping[str, str]) -> bytes:
    """Return the key that ``reference`` (see ``webhooks.schemas.KeyReference``) names. Raises ConfigError."""
    kind, _, name = reference.partition(":")
    if kind == "env":
        text = environment.get(name)
        if text is None:
            raise ConfigError(f"the workers have no environment variable {name}, which the webhook names as its key")
        return decode_key(text, name)
    assert name and Path(name).name == name, f"{name!r} is not a file name, although the API accepts only file names"
    path = (settings.webhook_keys_dir or settings.data_dir / KEYS_DIRECTORY) / name
    try:
        with path.open(encoding="utf-8") as file:
            return decode_key(file.read(KEY_CHARACTERS_MAX), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise ConfigError(f"the worker cannot read the key {path}: {reason}") from None


def decode_key(text: str, origin: str) -> bytes:
    """``text`` is the key itself, or ``whsec_`` followed by the key in base64. Raises ConfigError; the message contains ``origin`` but not
    the key."""
    text = text.strip()
    if text.startswith(PREFIX):
        try:
            key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
        except binascii.Error:
            raise ConfigError(f"the key in {origin} starts with {PREFIX}, but the rest is not base64") from None
    else:
        key = text.encode()
    if len(key) < KEY_BYTES_MIN:
        raise ConfigError(
            f"the key in {origin} is shorter than {KEY_BYTES_MIN} bytes: generate a signing key with `openssl rand -base64 32`"
        )
    return key
