"""Checks of specs that are not stored as versions yet"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    states = ("COMPILING", "VALID", "INVALID")
    op.create_table(
        "spec_checks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("artifact_id", sa.BigInteger(), nullable=False),
        sa.Column("body", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("state", sa.Enum(*states, name="state", native_enum=False, create_constraint=True, length=20), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("graph_id", sa.BigInteger(), nullable=True),
        sa.Column("inspection", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("enqueued_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["artifact_id"], ["artifacts.id"], name=op.f("fk_spec_checks_artifact_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["graph_id"], ["graphs.id"], name=op.f("fk_spec_checks_graph_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_spec_checks_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spec_checks")),
        sa.UniqueConstraint("digest", name=op.f("uq_spec_checks_digest")),
    )
    for column in ("artifact_id", "created_at", "job_id"):
        op.create_index(op.f(f"ix_spec_checks_{column}"), "spec_checks", [column])


def downgrade() -> None:
    op.drop_table("spec_checks")
