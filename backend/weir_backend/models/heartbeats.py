"""Heartbeats of components and hosts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base


class Heartbeat(Base):
    """Records that a component of the control plane, or a host with drivers, was up from ``since`` to ``seen_at`` without a long interruption (see
    ``kit.heartbeats``)."""

    __tablename__ = "heartbeats"

    component: Mapped[str] = mapped_column(String(20), primary_key=True)
    since: Mapped[datetime]
    seen_at: Mapped[datetime]
