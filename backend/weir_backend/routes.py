"""All endpoints: a router for each domain."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

ROUTERS: Sequence[APIRouter] = ()
