"""Bytes that a checkpoint wrote"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # ``checkpointed_bytes`` stays NULL for existing checkpoints, because their drivers did not report this number.
    op.add_column("checkpoints", sa.Column("checkpointed_bytes", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("checkpoints", "checkpointed_bytes")
