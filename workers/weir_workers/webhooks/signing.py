"""Signatures of messages, as https://www.standardwebhooks.com says, so that receivers find a library that checks them. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from weir.errors import ConfigError

PREFIX = "whsec_"
KEY_BYTES_MIN = 16


def headers(message_id: str, sent_at_s: int, body: bytes, key: bytes | None) -> dict[str, str]:
    """``sent_at_s``: of this try, since 1970. It is signed, too: who keeps a message cannot pass it on later as a new one. ``key`` None: there
    is no signature."""
    found = {"webhook-id": message_id, "webhook-timestamp": str(sent_at_s)}
    if key is not None:
        signed = f"{message_id}.{sent_at_s}.".encode() + body
        made = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        found["webhook-signature"] = f"v1,{made}"
    return found


def key_of(text: str, where: str) -> bytes:
    """``text``: bytes in base64 after ``whsec_``, or else the key itself. ``where`` it comes from. Raises ConfigError, without the key."""
    text = text.strip()
    if text.startswith(PREFIX):
        try:
            key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
        except binascii.Error:
            raise ConfigError(f"the key in {where} begins with {PREFIX}, and what follows is not base64") from None
    else:
        key = text.encode()
    if len(key) < KEY_BYTES_MIN:
        raise ConfigError(f"the key in {where} is shorter than {KEY_BYTES_MIN} bytes: openssl rand -base64 32 makes a good one")
    return key
