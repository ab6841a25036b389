"""The session cookie."""

from __future__ import annotations

from fastapi import Response

from weir_backend.auth.sessions.service import LIFETIME
from weir_backend.kit.access import SESSION_COOKIE
from weir_backend.settings import Settings


def is_secure(settings: Settings) -> bool:
    return settings.public_url.scheme == "https"


def set_session(response: Response, secret: str, settings: Settings) -> None:
    response.set_cookie(
        SESSION_COOKIE, secret, max_age=int(LIFETIME.total_seconds()), path="/", secure=is_secure(settings), httponly=True,
        samesite="strict",
    )  # fmt: skip


def clear_session(response: Response, settings: Settings) -> None:
    response.delete_cookie(SESSION_COOKIE, path="/", secure=is_secure(settings), httponly=True, samesite="strict")
