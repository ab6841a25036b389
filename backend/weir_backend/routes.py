"""All endpoints: a router for each domain."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from weir_backend.artifacts import endpoints as artifacts
from weir_backend.jobs import endpoints as jobs
from weir_backend.link import endpoints as link
from weir_backend.logs import endpoints as logs
from weir_backend.operations import endpoints as operations
from weir_backend.recovery import endpoints as recovery

ROUTERS: Sequence[APIRouter] = (
    artifacts.router,
    jobs.router,
    link.router,
    logs.router,
    operations.router,
    recovery.router,
)
