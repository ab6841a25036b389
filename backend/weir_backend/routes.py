"""The routers of all domains."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from weir_backend.alerts.endpoints import router as alerts
from weir_backend.artifacts.endpoints import router as artifacts
from weir_backend.audit.endpoints import router as audit
from weir_backend.auth.oidc.endpoints import router as oidc
from weir_backend.auth.sessions.endpoints import router as sessions
from weir_backend.auth.tokens.endpoints import router as tokens
from weir_backend.auth.users.endpoints import router as users
from weir_backend.checkpoints.endpoints import router as checkpoints
from weir_backend.events.endpoints import router as events
from weir_backend.job_manifests.endpoints import router as job_manifests
from weir_backend.jobs.endpoints import router as jobs
from weir_backend.link.endpoints import router as link
from weir_backend.metrics.endpoints import root as prometheus
from weir_backend.metrics.endpoints import router as metrics
from weir_backend.operations.endpoints import router as operations
from weir_backend.platform_health.endpoints import router as platform_health
from weir_backend.recovery.endpoints import router as recovery
from weir_backend.runs.endpoints import router as runs
from weir_backend.secrets.endpoints import router as secrets
from weir_backend.webhooks.endpoints import router as webhooks

ROUTERS: Sequence[APIRouter] = (
    sessions,
    oidc,
    users,
    tokens,
    audit,
    artifacts,
    jobs,
    job_manifests,
    operations,
    platform_health,
    recovery,
    runs,
    checkpoints,
    events,
    metrics,
    alerts,
    webhooks,
    secrets,
    link,
)

ROOT_ROUTERS: Sequence[APIRouter] = (prometheus,)
"""Routers whose paths do not begin with the prefix of the API."""
