"""Alert rules about the health of a job"""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TABLES = ("alert_rules", "alerts")
KINDS = "'no-checkpoint', 'failures', 'lag', 'restarts'"


def upgrade() -> None:
    for table in TABLES:
        _allow(table, f"{KINDS}, 'health'")


def downgrade() -> None:
    for table in TABLES:
        # The earlier version does not know rules and alerts of this kind.
        op.execute(f"DELETE FROM {table} WHERE kind = 'health'")
        _allow(table, KINDS)


def _allow(table: str, kinds: str) -> None:
    constraint = op.f(f"ck_{table}_kind")
    op.drop_constraint(constraint, table)
    op.create_check_constraint(constraint, table, f"kind IN ({kinds})")
