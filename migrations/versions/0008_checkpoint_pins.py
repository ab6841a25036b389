"""One row for each pin of a checkpoint"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# Older versions stored at most one pin per checkpoint, in the columns ``pinned`` and ``pinned_reason``. The reason names the plan that holds the pin.
# Older versions did not store the user who set a pin.
COPY = """
    INSERT INTO checkpoint_pins (checkpoint_id, holder, plan_id, reason)
    SELECT one.id, CASE WHEN plan.id IS NULL THEN 'user' WHEN one.pinned_reason LIKE 'an undo of %' THEN 'undo' ELSE 'plan' END, plan.id,
           one.pinned_reason
      FROM checkpoints AS one
      LEFT JOIN recovery_plans AS plan
        ON plan.job_id = one.job_id
       AND one.pinned_reason IN ('an undo of plan ' || plan.id || ' would return to it', 'plan ' || plan.id || ' restores it')
     WHERE one.pinned
"""


def upgrade() -> None:
    op.create_table(
        "checkpoint_pins",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("checkpoint_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "holder",
            sa.Enum("user", "plan", "undo", name="holder", native_enum=False, create_constraint=True, length=20),
            nullable=False,
        ),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("plan_id", sa.BigInteger(), nullable=True),
        sa.Column("user_name", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(
            ["checkpoint_id"], ["checkpoints.id"], name=op.f("fk_checkpoint_pins_checkpoint_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_checkpoint_pins_user_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["plan_id"], ["recovery_plans.id"], name=op.f("fk_checkpoint_pins_plan_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoint_pins")),
    )
    for column in ("checkpoint_id", "user_id", "plan_id"):
        op.create_index(op.f(f"ix_checkpoint_pins_{column}"), "checkpoint_pins", [column])
    op.execute(COPY)


def downgrade() -> None:
    op.drop_table("checkpoint_pins")
