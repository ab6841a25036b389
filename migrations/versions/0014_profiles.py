"""Profiles of slots"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

KINDS = "'deploy', 'start', 'suspend', 'cancel', 'savepoint', 'checkpoint', 'verify', 'apply-plan', 'delete'"


def upgrade() -> None:
    op.add_column("operations", sa.Column("profile", JSONB(none_as_null=True), nullable=True))
    _set_kinds(f"{KINDS}, 'profile'")


def downgrade() -> None:
    op.execute("DELETE FROM operations WHERE kind = 'profile'")
    _set_kinds(KINDS)
    op.drop_column("operations", "profile")


def _set_kinds(kinds: str) -> None:
    constraint = op.f("ck_operations_kind")
    op.drop_constraint(constraint, "operations")
    op.create_check_constraint(constraint, "operations", f"kind IN ({kinds})")
