"""The table of the secrets of the platform."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key


class Secret(Base):
    """``encrypted`` is the encrypted value (see ``secrets.encryption``)."""

    __tablename__ = "secrets"

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(String(100), unique=True)
    description: Mapped[str] = mapped_column(server_default=text("''"))
    encrypted: Mapped[str]
    version: Mapped[int] = mapped_column(server_default=text("1"))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    updated_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    updated_at: Mapped[datetime]
    value_changed_at: Mapped[datetime]

    __mapper_args__ = {"version_id_col": version}  # SQLAlchemy reads ``__mapper_args__`` from the class
