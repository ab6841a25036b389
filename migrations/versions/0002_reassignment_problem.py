"""Machines that are silent"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("stranded", sa.Text(), nullable=True))


def downgrade() -> None:
    # Machines would be parts of the control plane to who does not know them.
    op.execute("DELETE FROM presences WHERE part LIKE 'm:%'")
    op.drop_column("runs", "stranded")
