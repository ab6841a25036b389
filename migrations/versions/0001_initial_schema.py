"""Initial schema"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "graphs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("body", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_graphs")),
        sa.UniqueConstraint("digest", name=op.f("uq_graphs_digest")),
    )
    op.create_table(
        "presences",
        sa.Column("part", sa.String(length=20), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("part", name=op.f("pk_presences")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column(
            "role",
            sa.Enum("viewer", "operator", "admin", name="role", native_enum=False, create_constraint=True, length=20),
            nullable=False,
        ),
        sa.Column("rollback", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("disabled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("oidc_subject", sa.Text(), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
        sa.UniqueConstraint("oidc_subject", name=op.f("uq_users_oidc_subject")),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret_reference", sa.Text(), nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
        sa.UniqueConstraint("name", name=op.f("uq_webhooks_name")),
    )
    op.create_table(
        "artifacts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column(
            "kind", sa.Enum("py", "zip", "whl", name="kind", native_enum=False, create_constraint=True, length=20), nullable=False
        ),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("uploaded_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_artifacts_created_by"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
        sa.UniqueConstraint("digest", name=op.f("uq_artifacts_digest")),
    )
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("token_id", sa.BigInteger(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.BigInteger(), nullable=True),
        sa.Column("before", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("after", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_audit_entries_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
    )
    op.create_index(op.f("ix_audit_entries_resource_resource_id"), "audit_entries", ["resource", "resource_id"], unique=False)
    op.create_index(op.f("ix_audit_entries_user_id"), "audit_entries", ["user_id"], unique=False)
    op.create_table(
        "idempotency_keys",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("request_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=True),
        sa.Column("headers", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_idempotency_keys_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency_keys")),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_idempotency_keys_user_id_key")),
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("description", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column(
            "labels", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column(
            "desired_state",
            sa.Enum(
                "RUNNING", "SUSPENDED", "CANCELLED", name="desired_state", native_enum=False, create_constraint=True, length=20
            ),
            nullable=False,
        ),
        sa.Column("spec_number", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("run_number", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("history", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("next_start", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("event_number", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("checkpoint_told_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("restarts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("gave_up", sa.Text(), nullable=True),
        sa.Column("next_look_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("storage_look_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("tidied_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_jobs_created_by"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_next_look_at"), "jobs", ["next_look_at"], unique=False)
    op.create_index(
        "ix_jobs_storage_look_at", "jobs", ["storage_look_at"], unique=False, postgresql_where=sa.text("deleted_at IS NULL")
    )
    op.create_index("uq_jobs_name", "jobs", ["name"], unique=True, postgresql_where=sa.text("deleted_at IS NULL"))
    op.create_table(
        "tokens",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column(
            "kind", sa.Enum("api", "session", name="kind", native_enum=False, create_constraint=True, length=20), nullable=False
        ),
        sa.Column(
            "role",
            sa.Enum("viewer", "operator", "admin", name="role", native_enum=False, create_constraint=True, length=20),
            nullable=False,
        ),
        sa.Column("rollback", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tokens_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
    )
    op.create_index(op.f("ix_tokens_user_id"), "tokens", ["user_id"], unique=False)
    op.create_table(
        "alert_rules",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "no-checkpoint", "failures", "lag", "restarts", name="kind", native_enum=False, create_constraint=True, length=20
            ),
            nullable=False,
        ),
        sa.Column("parameters", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("webhook_id", sa.BigInteger(), nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_alert_rules_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name=op.f("fk_alert_rules_webhook_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rules")),
    )
    op.create_index(op.f("ix_alert_rules_webhook_id"), "alert_rules", ["webhook_id"], unique=False)
    op.create_table(
        "artifact_contents",
        sa.Column("artifact_id", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact_id"], ["artifacts.id"], name=op.f("fk_artifact_contents_artifact_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("artifact_id", name=op.f("pk_artifact_contents")),
    )
    op.create_table(
        "operations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "deploy",
                "start",
                "suspend",
                "cancel",
                "savepoint",
                "checkpoint",
                "verify",
                "apply-plan",
                "delete",
                name="kind",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column(
            "state",
            sa.Enum(
                "PENDING",
                "RUNNING",
                "SUCCEEDED",
                "FAILED",
                "ABANDONED",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column(
            "request", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("result", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column(
            "steps", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False
        ),
        sa.Column("after_run", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("deadline_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_operations_created_by"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_operations_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operations")),
    )
    op.create_index(op.f("ix_operations_job_id_id"), "operations", ["job_id", "id"], unique=False)
    op.create_index("ix_operations_open", "operations", ["job_id"], unique=False, postgresql_where=sa.text("ended_at IS NULL"))
    op.create_table(
        "specs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("artifact_id", sa.BigInteger(), nullable=False),
        sa.Column("body", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column(
            "state",
            sa.Enum("COMPILING", "VALID", "INVALID", name="state", native_enum=False, create_constraint=True, length=20),
            nullable=False,
        ),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("graph_id", sa.BigInteger(), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("comment", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["artifact_id"], ["artifacts.id"], name=op.f("fk_specs_artifact_id")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_specs_created_by"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["graph_id"], ["graphs.id"], name=op.f("fk_specs_graph_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_specs_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_specs")),
        sa.UniqueConstraint("job_id", "number", name=op.f("uq_specs_job_id_number")),
    )
    op.create_index(op.f("ix_specs_artifact_id"), "specs", ["artifact_id"], unique=False)
    op.create_table(
        "alerts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=True),
        sa.Column("rule_name", sa.String(length=100), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "no-checkpoint", "failures", "lag", "restarts", name="kind", native_enum=False, create_constraint=True, length=20
            ),
            nullable=False,
        ),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "state",
            sa.Enum("FIRING", "RESOLVED", name="state", native_enum=False, create_constraint=True, length=20),
            nullable=False,
        ),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resolution", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_alerts_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["rule_id"], ["alert_rules.id"], name=op.f("fk_alerts_rule_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
    )
    op.create_index(op.f("ix_alerts_job_id_since"), "alerts", ["job_id", "since"], unique=False)
    op.create_index(op.f("ix_alerts_rule_id"), "alerts", ["rule_id"], unique=False)
    op.create_index(
        "uq_alerts_firing", "alerts", ["rule_id", "job_id"], unique=True, postgresql_where=sa.text("state = 'FIRING'")
    )
    op.create_table(
        "recovery_plans",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "restore",
                "rollback",
                "undo",
                "upgrade",
                "rescale",
                name="kind",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column(
            "state",
            sa.Enum(
                "PROPOSED",
                "APPROVED",
                "APPLYING",
                "APPLIED",
                "FAILED",
                "WITHDRAWN",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("job_version", sa.BigInteger(), nullable=False),
        sa.Column("request", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("preview", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("signature", sa.LargeBinary(length=32), nullable=False),
        sa.Column(
            "phase",
            sa.Enum(
                "VERIFYING",
                "STOPPING",
                "STARTING",
                "RETURNING",
                name="phase",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=True,
        ),
        sa.Column("target_whole", sa.Boolean(), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("undo_of", sa.BigInteger(), nullable=True),
        sa.Column("safety_checkpoint", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("operation_id", sa.BigInteger(), nullable=True),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("approved_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("approved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["approved_by"], ["users.id"], name=op.f("fk_recovery_plans_approved_by"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_recovery_plans_created_by"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_recovery_plans_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["operation_id"], ["operations.id"], name=op.f("fk_recovery_plans_operation_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["undo_of"], ["recovery_plans.id"], name=op.f("fk_recovery_plans_undo_of"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_plans")),
    )
    op.create_index(op.f("ix_recovery_plans_job_id_id"), "recovery_plans", ["job_id", "id"], unique=False)
    op.create_index(
        "uq_recovery_plans_applying", "recovery_plans", ["job_id"], unique=True, postgresql_where=sa.text("state = 'APPLYING'")
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("message_id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("alert_id", sa.BigInteger(), nullable=True),
        sa.Column("webhook_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "about",
            sa.Enum("FIRING", "RESOLVED", "TEST", name="about", native_enum=False, create_constraint=True, length=20),
            nullable=False,
        ),
        sa.Column(
            "state",
            sa.Enum("PENDING", "DELIVERED", "GIVEN_UP", name="state", native_enum=False, create_constraint=True, length=20),
            server_default=sa.text("'PENDING'"),
            nullable=False,
        ),
        sa.Column("tries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["alert_id"], ["alerts.id"], name=op.f("fk_deliveries_alert_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name=op.f("fk_deliveries_webhook_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("alert_id", "webhook_id", "about", name=op.f("uq_deliveries_alert_id_webhook_id_about")),
    )
    op.create_index(
        "ix_deliveries_open",
        "deliveries",
        ["webhook_id", "next_try_at"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(op.f("ix_deliveries_webhook_id_id"), "deliveries", ["webhook_id", "id"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("directory", sa.Text(), server_default=sa.text("(gen_random_uuid())::text"), nullable=False),
        sa.Column("spec_id", sa.BigInteger(), nullable=False),
        sa.Column("graph_id", sa.BigInteger(), nullable=True),
        sa.Column(
            "state",
            sa.Enum(
                "CREATED",
                "INITIALIZING",
                "RUNNING",
                "RESTARTING",
                "FAILING",
                "CANCELLING",
                "RECONCILING",
                "FINISHED",
                "SUSPENDED",
                "CANCELED",
                "FAILED",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("cause", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("start", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("failure_kind", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("plan_id", sa.BigInteger(), nullable=True),
        sa.Column("checkpoint_directory", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("token_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("stored_event", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("missing_events", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_command", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("generation", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("pid", sa.BigInteger(), nullable=True),
        sa.Column("pid_started", sa.Double(), nullable=True),
        sa.Column("last_contact_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("running_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fenced_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("files_cleared_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["graph_id"], ["graphs.id"], name=op.f("fk_runs_graph_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_runs_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["plan_id"], ["recovery_plans.id"], name=op.f("fk_runs_plan_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["spec_id"], ["specs.id"], name=op.f("fk_runs_spec_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("job_id", "number", name=op.f("uq_runs_job_id_number")),
        sa.UniqueConstraint("token_digest", name=op.f("uq_runs_token_digest")),
    )
    op.create_index(op.f("ix_runs_checkpoint_directory"), "runs", ["checkpoint_directory"], unique=False)
    op.create_index(
        "ix_runs_files",
        "runs",
        ["host", "id"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NOT NULL AND files_cleared_at IS NULL"),
    )
    op.create_index("ix_runs_live_host", "runs", ["host"], unique=False, postgresql_where=sa.text("ended_at IS NULL"))
    op.create_index("uq_runs_live", "runs", ["job_id"], unique=True, postgresql_where=sa.text("ended_at IS NULL"))
    op.create_table(
        "checkpoints",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column(
            "state",
            sa.Enum("IN_PROGRESS", "COMPLETED", "FAILED", name="state", native_enum=False, create_constraint=True, length=20),
            nullable=False,
        ),
        sa.Column("trigger", sa.String(length=20), nullable=False),
        sa.Column("is_savepoint", sa.Boolean(), nullable=False),
        sa.Column("parent", sa.BigInteger(), nullable=True),
        sa.Column("triggered_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("triggered_event", sa.BigInteger(), nullable=True),
        sa.Column("latest_ack_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("end_to_end_ms", sa.BigInteger(), nullable=True),
        sa.Column("state_bytes", sa.BigInteger(), nullable=True),
        sa.Column("subtasks", sa.BigInteger(), nullable=False),
        sa.Column("acknowledged", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "progress", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False
        ),
        sa.Column("statistics", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("pinned", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("pinned_reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("pin_in_force", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("leaving_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("discarded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("damage", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_checkpoints_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_checkpoints_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoints")),
        sa.UniqueConstraint("job_id", "number", name=op.f("uq_checkpoints_job_id_number")),
    )
    op.create_index(
        "ix_checkpoints_completed",
        "checkpoints",
        ["job_id", "number"],
        unique=False,
        postgresql_where=sa.text("state = 'COMPLETED'"),
    )
    op.create_index(
        "ix_checkpoints_discarded",
        "checkpoints",
        ["discarded_at"],
        unique=False,
        postgresql_where=sa.text("discarded_at IS NOT NULL"),
    )
    op.create_index(
        "ix_checkpoints_in_progress", "checkpoints", ["run_id"], unique=False, postgresql_where=sa.text("state = 'IN_PROGRESS'")
    )
    op.create_index(
        "ix_checkpoints_pins",
        "checkpoints",
        ["id"],
        unique=False,
        postgresql_where=sa.text("pinned <> pin_in_force AND discarded_at IS NULL"),
    )
    op.create_index(
        "ix_checkpoints_there",
        "checkpoints",
        ["job_id", "number"],
        unique=False,
        postgresql_where=sa.text("state = 'COMPLETED' AND discarded_at IS NULL"),
    )
    op.create_table(
        "commands",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column(
            "fields", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("operation_id", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.String(length=20), nullable=True),
        sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("answered_event", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["operation_id"], ["operations.id"], name=op.f("fk_commands_operation_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_commands_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commands")),
        sa.UniqueConstraint("run_id", "number", name=op.f("uq_commands_run_id_number")),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("run_event", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.String(length=60), nullable=False),
        sa.Column("fields", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_events_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_events_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sa.UniqueConstraint("job_id", "number", name=op.f("uq_events_job_id_number")),
    )
    op.create_index(op.f("ix_events_received_at"), "events", ["received_at"], unique=False, postgresql_using="brin")
    op.create_table(
        "failures",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recovered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("downtime_ms", sa.BigInteger(), nullable=True),
        sa.Column("recovery", sa.String(length=20), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_failures_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_failures_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_failures")),
    )
    op.create_index(op.f("ix_failures_job_id_at"), "failures", ["job_id", "at"], unique=False)
    op.create_index(op.f("ix_failures_job_id_run_id_generation"), "failures", ["job_id", "run_id", "generation"], unique=False)
    op.create_table(
        "metric_samples",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("slot", sa.SmallInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("metrics", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_metric_samples_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_samples")),
    )
    op.create_index(op.f("ix_metric_samples_at"), "metric_samples", ["at"], unique=False, postgresql_using="brin")
    op.create_index(op.f("ix_metric_samples_run_id_at"), "metric_samples", ["run_id", "at"], unique=False)
    op.create_table(
        "verifications",
        sa.Column("checkpoint_id", sa.BigInteger(), nullable=False),
        sa.Column("claim", sa.BigInteger(), nullable=False),
        sa.Column("wanted", sa.Boolean(), nullable=False),
        sa.Column("files_done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("bytes_done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["checkpoint_id"], ["checkpoints.id"], name=op.f("fk_verifications_checkpoint_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("checkpoint_id", name=op.f("pk_verifications")),
    )

    # Only this migration creates the default alert rules. If the API created the default rules at each start, a default rule that a user has
    # deleted would come back.
    op.bulk_insert(
        sa.table("alert_rules", sa.column("name"), sa.column("kind"), sa.column("parameters", postgresql.JSONB())),
        [
            {"name": "No checkpoint for 10 minutes", "kind": "no-checkpoint", "parameters": {"minutes": 10}},
            {"name": "Failed three times in a row", "kind": "failures", "parameters": {"count": 3}},
            {"name": "Five restarts within ten minutes", "kind": "restarts", "parameters": {"count": 5, "minutes": 10}},
        ],
    )


def downgrade() -> None:
    op.drop_table("verifications")
    op.drop_index(op.f("ix_metric_samples_run_id_at"), table_name="metric_samples")
    op.drop_index(op.f("ix_metric_samples_at"), table_name="metric_samples", postgresql_using="brin")
    op.drop_table("metric_samples")
    op.drop_index(op.f("ix_failures_job_id_run_id_generation"), table_name="failures")
    op.drop_index(op.f("ix_failures_job_id_at"), table_name="failures")
    op.drop_table("failures")
    op.drop_index(op.f("ix_events_received_at"), table_name="events", postgresql_using="brin")
    op.drop_table("events")
    op.drop_table("commands")
    op.drop_index(
        "ix_checkpoints_there", table_name="checkpoints", postgresql_where=sa.text("state = 'COMPLETED' AND discarded_at IS NULL")
    )
    op.drop_index(
        "ix_checkpoints_pins",
        table_name="checkpoints",
        postgresql_where=sa.text("pinned <> pin_in_force AND discarded_at IS NULL"),
    )
    op.drop_index("ix_checkpoints_in_progress", table_name="checkpoints", postgresql_where=sa.text("state = 'IN_PROGRESS'"))
    op.drop_index("ix_checkpoints_discarded", table_name="checkpoints", postgresql_where=sa.text("discarded_at IS NOT NULL"))
    op.drop_index("ix_checkpoints_completed", table_name="checkpoints", postgresql_where=sa.text("state = 'COMPLETED'"))
    op.drop_table("checkpoints")
    op.drop_index("uq_runs_live", table_name="runs", postgresql_where=sa.text("ended_at IS NULL"))
    op.drop_index("ix_runs_live_host", table_name="runs", postgresql_where=sa.text("ended_at IS NULL"))
    op.drop_index(
        "ix_runs_files", table_name="runs", postgresql_where=sa.text("ended_at IS NOT NULL AND files_cleared_at IS NULL")
    )
    op.drop_index(op.f("ix_runs_checkpoint_directory"), table_name="runs")
    op.drop_table("runs")
    op.drop_index(op.f("ix_deliveries_webhook_id_id"), table_name="deliveries")
    op.drop_index("ix_deliveries_open", table_name="deliveries", postgresql_where=sa.text("ended_at IS NULL"))
    op.drop_table("deliveries")
    op.drop_index("uq_recovery_plans_applying", table_name="recovery_plans", postgresql_where=sa.text("state = 'APPLYING'"))
    op.drop_index(op.f("ix_recovery_plans_job_id_id"), table_name="recovery_plans")
    op.drop_table("recovery_plans")
    op.drop_index("uq_alerts_firing", table_name="alerts", postgresql_where=sa.text("state = 'FIRING'"))
    op.drop_index(op.f("ix_alerts_rule_id"), table_name="alerts")
    op.drop_index(op.f("ix_alerts_job_id_since"), table_name="alerts")
    op.drop_table("alerts")
    op.drop_index(op.f("ix_specs_artifact_id"), table_name="specs")
    op.drop_table("specs")
    op.drop_index("ix_operations_open", table_name="operations", postgresql_where=sa.text("ended_at IS NULL"))
    op.drop_index(op.f("ix_operations_job_id_id"), table_name="operations")
    op.drop_table("operations")
    op.drop_table("artifact_contents")
    op.drop_index(op.f("ix_alert_rules_webhook_id"), table_name="alert_rules")
    op.drop_table("alert_rules")
    op.drop_index(op.f("ix_tokens_user_id"), table_name="tokens")
    op.drop_table("tokens")
    op.drop_index("uq_jobs_name", table_name="jobs", postgresql_where=sa.text("deleted_at IS NULL"))
    op.drop_index("ix_jobs_storage_look_at", table_name="jobs", postgresql_where=sa.text("deleted_at IS NULL"))
    op.drop_index(op.f("ix_jobs_next_look_at"), table_name="jobs")
    op.drop_table("jobs")
    op.drop_index(op.f("ix_idempotency_keys_created_at"), table_name="idempotency_keys")
    op.drop_table("idempotency_keys")
    op.drop_index(op.f("ix_audit_entries_user_id"), table_name="audit_entries")
    op.drop_index(op.f("ix_audit_entries_resource_resource_id"), table_name="audit_entries")
    op.drop_table("audit_entries")
    op.drop_table("artifacts")
    op.drop_table("webhooks")
    op.drop_table("users")
    op.drop_table("presences")
    op.drop_table("graphs")
