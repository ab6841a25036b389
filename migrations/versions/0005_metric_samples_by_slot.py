"""Index of metric samples by slot"""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The index makes charts fast: a slot has tens of thousands of samples, and a chart of one day reads a few hundred of them.
    op.create_index(op.f("ix_metric_samples_run_id_slot_at"), "metric_samples", ["run_id", "slot", "at"])


def downgrade() -> None:
    op.drop_index(op.f("ix_metric_samples_run_id_slot_at"), table_name="metric_samples")
