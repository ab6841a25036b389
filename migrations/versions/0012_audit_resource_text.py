"""Names of the resources in audit entries"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("audit_entries", sa.Column("resource_text", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("audit_entries", "resource_text")
