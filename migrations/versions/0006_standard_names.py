"""Standard names for columns, states and events"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

COLUMNS = (
    ("jobs", "history", "lineage"),
    ("jobs", "checkpoint_told_at", "checkpoint_reported_at"),
    ("jobs", "recoveries_forgotten", "pruned_recoveries"),
    ("jobs", "downtime_forgotten_ms", "pruned_downtime_ms"),
    ("jobs", "not_before", "restart_at"),
    ("jobs", "gave_up", "restarts_stopped_reason"),
    ("jobs", "next_look_at", "next_reconcile_at"),
    ("jobs", "storage_look_at", "next_retention_at"),
    ("jobs", "tidied_until", "retention_until"),
    ("specs", "asked_at", "enqueued_at"),
    ("recovery_plans", "asked_at", "enqueued_at"),
    ("runs", "stranded", "reassignment_problem"),
)
INDEXES = (("ix_jobs_next_look_at", "ix_jobs_next_reconcile_at"), ("ix_jobs_storage_look_at", "ix_jobs_next_retention_at"))
# Each entry contains the table, the column, the old value, the new value, and all values in the order of the model's enum.
VALUES = (
    ("operations", "state", "ABANDONED", "SUPERSEDED", ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "SUPERSEDED")),
    ("recovery_plans", "state", "WITHDRAWN", "DISCARDED", ("PROPOSED", "APPROVED", "APPLYING", "APPLIED", "FAILED", "DISCARDED")),
    ("recovery_plans", "phase", "RETURNING", "REVERTING", ("VERIFYING", "STOPPING", "STARTING", "REVERTING")),
    ("deliveries", "state", "GIVEN_UP", "FAILED", ("PENDING", "DELIVERED", "FAILED")),
)
EVENT_KINDS = (
    ("StateWanted", "DesiredStateChanged"),
    ("CheckpointDeletionAsked", "CheckpointDeletionRequested"),
    ("PinsCameTooLate", "PinsRejected"),
    ("PlanEntered", "PlanPhaseChanged"),
    ("PlanWithdrawn", "PlanDiscarded"),
    ("RestartPlanned", "RestartScheduled"),
    ("GaveUp", "RestartsStopped"),
    ("RunBegun", "RunCreated"),
    ("RunStranded", "ReassignmentBlocked"),
)
# Each entry contains the new event kind, the old field and the new field.
EVENT_FIELDS = (
    ("DesiredStateChanged", "desired", "desired_state"),
    ("OperationEnded", "kind_", "operation_kind"),
    ("PlanProposed", "kind_", "plan_kind"),
    ("AlertFired", "about", "rule_kind"),
    ("AlertResolved", "about", "rule_kind"),
    ("AlertResolved", "why", "resolution"),
    ("CheckpointsDeleted", "asked_for", "requested"),
)
# Each entry contains the new event kind, the new field, the old value and the new value.
EVENT_VALUES = (
    ("OperationEnded", "state", "ABANDONED", "SUPERSEDED"),
    ("PlanPhaseChanged", "phase", "RETURNING", "REVERTING"),
)
RENAME_KIND = sa.text("UPDATE events SET kind = :new WHERE kind = :old")
RENAME_FIELD = sa.text(
    "UPDATE events SET fields = (fields - CAST(:old AS text)) || jsonb_build_object(CAST(:new AS text), fields -> CAST(:old AS text)) "
    "WHERE kind = :kind AND jsonb_exists(fields, CAST(:old AS text))"
)
REPLACE_VALUE = sa.text(
    "UPDATE events SET fields = fields || jsonb_build_object(CAST(:field AS text), CAST(:new AS text)) "
    "WHERE kind = :kind AND fields ->> :field = :old"
)
RENAME_ACTION = sa.text("UPDATE audit_entries SET action = :new WHERE action = :old AND resource = 'plan'")


def upgrade() -> None:
    for table, old, new in COLUMNS:
        _rename_column(table, old, new)
    for old, new in INDEXES:
        op.execute(f"ALTER INDEX {old} RENAME TO {new}")
    _rename_table("presences", "heartbeats", {"part": "component", "since": "since", "seen_at": "seen_at"})
    for table, column, old, new, values in VALUES:
        _rename_value(table, column, old, new, values)
    for old, new in EVENT_KINDS:
        op.execute(RENAME_KIND.bindparams(old=old, new=new))
    for kind, old, new in EVENT_FIELDS:
        op.execute(RENAME_FIELD.bindparams(kind=kind, old=old, new=new))
    for kind, field, old, new in EVENT_VALUES:
        op.execute(REPLACE_VALUE.bindparams(kind=kind, field=field, old=old, new=new))
    op.execute(RENAME_ACTION.bindparams(old="withdraw", new="discard"))


def downgrade() -> None:
    op.execute(RENAME_ACTION.bindparams(old="discard", new="withdraw"))
    for kind, field, old, new in EVENT_VALUES:
        op.execute(REPLACE_VALUE.bindparams(kind=kind, field=field, old=new, new=old))
    for kind, old, new in EVENT_FIELDS:
        op.execute(RENAME_FIELD.bindparams(kind=kind, old=new, new=old))
    for old, new in EVENT_KINDS:
        op.execute(RENAME_KIND.bindparams(old=new, new=old))
    for table, column, old, new, values in VALUES:
        _rename_value(table, column, new, old, tuple(old if value == new else value for value in values))
    _rename_table("heartbeats", "presences", {"component": "part", "since": "since", "seen_at": "seen_at"})
    for old, new in INDEXES:
        op.execute(f"ALTER INDEX {new} RENAME TO {old}")
    for table, old, new in COLUMNS:
        _rename_column(table, new, old)


def _rename_table(old_table: str, new_table: str, columns: dict[str, str]) -> None:
    op.rename_table(old_table, new_table)
    op.execute(f"ALTER TABLE {new_table} RENAME CONSTRAINT pk_{old_table} TO pk_{new_table}")
    for old, new in columns.items():
        if old != new:
            op.alter_column(new_table, old, new_column_name=new)
        _rename_constraint(new_table, f"{old_table}_{old}_not_null", f"{new_table}_{new}_not_null")


def _rename_column(table: str, old: str, new: str) -> None:
    op.alter_column(table, old, new_column_name=new)
    _rename_constraint(table, f"{table}_{old}_not_null", f"{table}_{new}_not_null")


def _rename_constraint(table: str, old: str, new: str) -> None:
    """Rename a NOT NULL constraint. PostgreSQL 18 names a NOT NULL constraint after its table and column. Older versions of
    PostgreSQL do not name NOT NULL constraints."""
    query = sa.text("SELECT 1 FROM pg_constraint WHERE conrelid = CAST(:table AS regclass) AND conname = :constraint")
    if op.get_bind().execute(query.bindparams(table=table, constraint=old)).first() is not None:
        op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {old} TO {new}")


def _rename_value(table: str, column: str, old: str, new: str, values: tuple[str, ...]) -> None:
    rows = sa.table(table, sa.column(column, sa.String))
    constraint = op.f(f"ck_{table}_{column}")
    op.drop_constraint(constraint, table)
    op.execute(sa.update(rows).where(rows.c[column] == old).values({column: new}))
    op.create_check_constraint(constraint, table, rows.c[column].in_(values))
