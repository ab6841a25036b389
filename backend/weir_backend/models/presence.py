"""Since when the parts of the control plane itself are there."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base


class Presence(Base):
    """Of one part (the API, the rounds of the alerts), however many processes it has, or of a machine with drivers (``kit.presence``): one of
    them was there, from ``since`` to ``seen_at``, without an interruption worth mentioning."""

    __tablename__ = "presences"

    part: Mapped[str] = mapped_column(String(20), primary_key=True)
    since: Mapped[datetime]
    seen_at: Mapped[datetime]
