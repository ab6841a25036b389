"""All endpoints: a router for each domain."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from weir_backend.checkpoints import endpoints as checkpoints
from weir_backend.events import endpoints as events
from weir_backend.failures import endpoints as failures
from weir_backend.link import endpoints as link
from weir_backend.metrics import endpoints as metrics
from weir_backend.runs import endpoints as runs

ROUTERS: Sequence[APIRouter] = (
    link.router,
    runs.router,
    events.router,
    checkpoints.router,
    failures.router,
    metrics.router,
)

ROOT_ROUTERS: Sequence[APIRouter] = (metrics.root,)
"""Without the prefix of the API."""
