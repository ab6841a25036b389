"""Formats and events of webhooks; messages about operations and plans"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

FORMATS = ("weir", "slack", "teams", "pagerduty")
KINDS = "'FIRING', 'RESOLVED', 'TEST'"
NEW_KINDS = "'SUCCEEDED', 'FAILED', 'PROPOSED', 'APPROVED', 'APPLIED', 'DISCARDED'"
SUBJECTS = (("operation_id", "operations"), ("plan_id", "recovery_plans"))


def upgrade() -> None:
    # Existing webhooks keep their format, and receive only alerts, as before.
    op.add_column("webhooks", sa.Column("format", sa.String(length=20), server_default="weir", nullable=False))
    op.create_check_constraint(op.f("ck_webhooks_format"), "webhooks", f"format IN ({', '.join(repr(one) for one in FORMATS)})")
    events = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
    op.add_column("webhooks", sa.Column("events", events, server_default=sa.text("'[\"alerts\"]'"), nullable=False))
    for column, table in SUBJECTS:
        op.add_column("deliveries", sa.Column(column, sa.BigInteger(), nullable=True))
        op.create_foreign_key(op.f(f"fk_deliveries_{column}"), "deliveries", table, [column], ["id"], ondelete="CASCADE")
    op.create_unique_constraint(op.f("uq_deliveries_operation_id_webhook_id"), "deliveries", ["operation_id", "webhook_id"])
    plan = ["plan_id", "webhook_id", "message_kind"]
    op.create_unique_constraint(op.f("uq_deliveries_plan_id_webhook_id_message_kind"), "deliveries", plan)
    _allow(f"{KINDS}, {NEW_KINDS}")


def downgrade() -> None:
    # The earlier version does not know messages of these kinds.
    op.execute(f"DELETE FROM deliveries WHERE message_kind IN ({NEW_KINDS})")
    _allow(KINDS)
    # This also drops the constraints on the columns.
    for column, _ in SUBJECTS:
        op.drop_column("deliveries", column)
    op.drop_column("webhooks", "events")
    op.drop_column("webhooks", "format")


def _allow(kinds: str) -> None:
    constraint = op.f("ck_deliveries_message_kind")
    op.drop_constraint(constraint, "deliveries")
    op.create_check_constraint(constraint, "deliveries", f"message_kind IN ({kinds})")
