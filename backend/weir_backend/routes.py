"""All endpoints: a router for each domain."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from weir_backend.events import endpoints as events
from weir_backend.link import endpoints as link

ROUTERS: Sequence[APIRouter] = (link.router, events.router)
