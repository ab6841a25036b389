"""Reassignment of jobs from lost hosts"""

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
    # Delete the rows of hosts, because the older version of Weir would mistake hosts for components of the control plane.
    op.execute("DELETE FROM presences WHERE part LIKE 'm:%'")
    op.drop_column("runs", "stranded")
