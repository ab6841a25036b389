"""All endpoints: a router for each domain."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from weir_backend.audit.endpoints import router as audit
from weir_backend.auth.oidc.endpoints import router as oidc
from weir_backend.auth.sessions.endpoints import router as sessions
from weir_backend.auth.tokens.endpoints import router as tokens
from weir_backend.auth.users.endpoints import router as users

ROUTERS: Sequence[APIRouter] = (sessions, oidc, users, tokens, audit)
