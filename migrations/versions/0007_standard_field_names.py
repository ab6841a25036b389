"""Standard names for fields of plans, checkpoints and deliveries"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COLUMNS = (
    ("checkpoints", "leaving_at", "deleting_since"),
    ("verifications", "wanted", "requested"),
    ("recovery_plans", "target_whole", "target_intact"),
    ("deliveries", "about", "message_kind"),
    ("deliveries", "status", "http_status"),
)
INDEXES = (("ix_checkpoints_there", "ix_checkpoints_not_discarded"),)
# Each entry contains the table, the old name and the new name.
CONSTRAINTS = (
    ("deliveries", "ck_deliveries_about", "ck_deliveries_message_kind"),
    ("deliveries", "uq_deliveries_alert_id_webhook_id_about", "uq_deliveries_alert_id_webhook_id_message_kind"),
)
# Each entry contains the table, the JSON column, the path to the object, the old key, the new key and the condition.
KEYS = (
    ("recovery_plans", "preview", "{}", "anew", "without_state", "TRUE"),
    ("recovery_plans", "preview", "{}", "origin", "path", "TRUE"),
    ("recovery_plans", "preview", "{}", "restarts", "restarted_operators", "TRUE"),
    ("recovery_plans", "preview", "{}", "duplicates", "sinks_with_duplicates", "TRUE"),
    ("recovery_plans", "preview", "{inspection}", "whole", "intact", "TRUE"),
    ("recovery_plans", "preview", "{inspection}", "returning", "reinstated", "TRUE"),
    ("recovery_plans", "preview", "{inspection}", "again", "recommitted", "TRUE"),
    ("recovery_plans", "preview", "{inspection}", "misfit", "incompatibility", "TRUE"),
    ("recovery_plans", "preview", "{inspection}", "origin", "external_checkpoint", "TRUE"),
    ("recovery_plans", "request", "{}", "desired_before", "desired_state_before", "TRUE"),
    ("operations", "result", "{}", "whole", "intact", "kind = 'verify'"),
    ("operations", "result", "{}", "left", "deletion_problem", "kind = 'delete'"),
    ("specs", "body", "{restart}", "well_after_s", "reset_after_s", "TRUE"),
    ("events", "fields", "{}", "whole", "intact", "kind = 'PlanInspected'"),
    ("events", "fields", "{}", "misfit", "incompatibility", "kind = 'PlanInspected'"),
    ("events", "fields", "{}", "left", "deletion_problem", "kind = 'CheckpointsDeleted'"),
    ("events", "fields", "{}", "about", "message_kind", "kind = 'AlertNotDelivered'"),
)
RENAME_EVENTS = sa.text("UPDATE events SET kind = :new WHERE kind = :old")
INTACT = ("CheckpointFoundWhole", "CheckpointIntact")
RENAME_PINS = sa.text(
    "UPDATE checkpoints SET pinned_reason = regexp_replace(pinned_reason, CAST(:old AS text), CAST(:new AS text)) WHERE pinned_reason ~ :old"
)
DISCARD_PLANS = sa.text(
    "UPDATE recovery_plans SET state = 'DISCARDED', ended_at = now(), problem = :reason WHERE state IN ('PROPOSED', 'APPROVED')"
)
REASON = "Another version of Weir made this plan. Propose a new plan."


def upgrade() -> None:
    for table, old, new in COLUMNS:
        _rename_column(table, old, new)
    for old, new in INDEXES:
        op.execute(f"ALTER INDEX {old} RENAME TO {new}")
    for table, old, new in CONSTRAINTS:
        op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {old} TO {new}")
    for table, column, path, old, new, condition in KEYS:
        _rename_key(table, column, path, old, new, condition)
    op.execute(RENAME_EVENTS.bindparams(old=INTACT[0], new=INTACT[1]))
    op.execute(RENAME_PINS.bindparams(old=r"^plan (\d+) goes back to it$", new=r"plan \1 restores it"))
    _discard_open_plans()


def downgrade() -> None:
    op.execute(RENAME_PINS.bindparams(old=r"^plan (\d+) restores it$", new=r"plan \1 goes back to it"))
    op.execute(RENAME_EVENTS.bindparams(old=INTACT[1], new=INTACT[0]))
    for table, column, path, old, new, condition in KEYS:
        _rename_key(table, column, path, new, old, condition)
    for table, old, new in CONSTRAINTS:
        op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {new} TO {old}")
    for old, new in INDEXES:
        op.execute(f"ALTER INDEX {new} RENAME TO {old}")
    for table, old, new in COLUMNS:
        _rename_column(table, new, old)
    _discard_open_plans()


def _discard_open_plans() -> None:
    """Discard the open plans. The signature of a plan covers the preview of the plan. This migration changes previews, but has no key for new
    signatures. Ended plans need no new signature, because only the signatures of open plans are verified."""
    op.execute(DISCARD_PLANS.bindparams(reason=REASON))


def _rename_key(table: str, column: str, path: str, old: str, new: str, condition: str) -> None:
    found = f"{column} #> '{path}'"
    renamed = f"(({found}) - '{old}') || jsonb_build_object('{new}', {found} -> '{old}')"
    value = renamed if path == "{}" else f"jsonb_set({column}, '{path}', {renamed})"
    op.execute(
        f"UPDATE {table} SET {column} = {value} WHERE {condition} AND jsonb_typeof({found}) = 'object' AND jsonb_exists({found}, '{old}')"
    )


def _rename_column(table: str, old: str, new: str) -> None:
    op.alter_column(table, old, new_column_name=new)
    old_constraint, new_constraint = f"{table}_{old}_not_null", f"{table}_{new}_not_null"
    # PostgreSQL 18 names a NOT NULL constraint after its table and column. Older versions of PostgreSQL do not name NOT NULL
    # constraints.
    query = sa.text("SELECT 1 FROM pg_constraint WHERE conrelid = CAST(:table AS regclass) AND conname = :constraint")
    if op.get_bind().execute(query.bindparams(table=table, constraint=old_constraint)).first() is not None:
        op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {old_constraint} TO {new_constraint}")
