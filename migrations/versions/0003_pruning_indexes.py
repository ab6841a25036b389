"""Indexes for the deletion of old rows"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# The tables and columns of the BRIN indexes. Rows are inserted almost in the order of the values in the indexed columns. A BRIN index on a
# column that grows with each insertion is small, and hardly slows down insertions.
BRIN = (
    ("audit_entries", "at"), ("checkpoints", "run_id"), ("commands", "created_at"), ("events", "run_id"), ("failures", "received_at"),
    ("failures", "run_id"), ("operations", "created_at"),
)  # fmt: skip
# When rows are deleted, Postgres searches the columns in ``REFERENCES`` for references to the deleted rows.
REFERENCES = (
    ("commands", "operation_id", None),
    ("recovery_plans", "operation_id", None),
    ("runs", "plan_id", "plan_id IS NOT NULL"),
)


def upgrade() -> None:
    op.create_index(op.f("ix_checkpoints_job_id_id"), "checkpoints", ["job_id", "id"])
    for column in ("recoveries_forgotten", "downtime_forgotten_ms"):
        op.add_column("jobs", sa.Column(column, sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    for table, column in BRIN:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], postgresql_using="brin")
    for table, column, where in REFERENCES:
        condition = sa.text(where) if where is not None else None
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], postgresql_where=condition)


def downgrade() -> None:
    op.drop_index(op.f("ix_checkpoints_job_id_id"), table_name="checkpoints")
    for table, column, _ in REFERENCES:
        op.drop_index(op.f(f"ix_{table}_{column}"), table_name=table)
    for table, column in BRIN:
        op.drop_index(op.f(f"ix_{table}_{column}"), table_name=table)
    for column in ("downtime_forgotten_ms", "recoveries_forgotten"):
        op.drop_column("jobs", column)
