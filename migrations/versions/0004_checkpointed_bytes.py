"""What checkpoints have written"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Nobody has told it of those that there are: it stays unknown.
    op.add_column("checkpoints", sa.Column("checkpointed_bytes", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("checkpoints", "checkpointed_bytes")
