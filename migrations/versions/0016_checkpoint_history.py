"""Counters of checkpoints, and indexes of the checkpoint history"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

COUNTERS = {
    "completed_checkpoints": "state = 'COMPLETED'",
    "failed_checkpoints": "state = 'FAILED'",
    "completed_savepoints": "state = 'COMPLETED' AND is_savepoint",
}
"""The counters of a job, and the condition for the checkpoints that each counter counts."""
COUNTED = ", ".join(f"count(*) FILTER (WHERE {condition}) AS {counter}" for counter, condition in COUNTERS.items())
ADDED = ", ".join(f"{counter} = jobs.{counter} + counted.{counter}" for counter in COUNTERS)
HISTORY = "state = 'COMPLETED' AND discarded_at IS NOT NULL AND NOT is_savepoint"


def upgrade() -> None:
    # Adding the columns locks the table of jobs until the end of the migration. No transaction changes the state of a checkpoint without the
    # lock on its job, so the counters and the triggers miss no checkpoint.
    for counter in COUNTERS:
        op.add_column("jobs", sa.Column(counter, sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("checkpoints", sa.Column("history_level", sa.SmallInteger(), server_default=sa.text("0"), nullable=False))
    op.create_index(
        "ix_checkpoints_history", "checkpoints", ["history_level", "job_id", "completed_at"], postgresql_where=sa.text(HISTORY)
    )
    op.create_index(
        "ix_checkpoints_notable",
        "checkpoints",
        ["job_id", "number"],
        postgresql_where=sa.text("state = 'FAILED' OR is_savepoint"),
    )
    op.execute(f"UPDATE jobs SET {ADDED} FROM ({_counted('checkpoints')}) AS counted WHERE counted.job_id = jobs.id")
    _count_on("insert", f"UPDATE jobs SET {ADDED} FROM ({_counted('added')}) AS counted WHERE counted.job_id = jobs.id")
    op.execute(
        "CREATE TRIGGER count_on_insert AFTER INSERT ON checkpoints REFERENCING NEW TABLE AS added "
        "FOR EACH STATEMENT EXECUTE FUNCTION count_checkpoints_on_insert()"
    )
    changes = ", ".join(
        f"{counter} = {counter} + ({_of('NEW', condition)})::int - ({_of('OLD', condition)})::int"
        for counter, condition in COUNTERS.items()
    )
    _count_on("change", f"UPDATE jobs SET {changes} WHERE id = NEW.job_id")
    op.execute(
        "CREATE TRIGGER count_on_change AFTER UPDATE OF state ON checkpoints FOR EACH ROW "
        "WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION count_checkpoints_on_change()"
    )


def downgrade() -> None:
    for event in ("insert", "change"):
        op.execute(f"DROP TRIGGER count_on_{event} ON checkpoints")
        op.execute(f"DROP FUNCTION count_checkpoints_on_{event}()")
    for index in ("ix_checkpoints_history", "ix_checkpoints_notable"):
        op.drop_index(index, table_name="checkpoints")
    op.drop_column("checkpoints", "history_level")
    for counter in COUNTERS:
        op.drop_column("jobs", counter)


def _counted(table: str) -> str:
    return f"SELECT job_id, {COUNTED} FROM {table} WHERE state <> 'IN_PROGRESS' GROUP BY job_id"


def _of(row: str, condition: str) -> str:
    return condition.replace("state", f"{row}.state").replace("is_savepoint", f"{row}.is_savepoint")


def _count_on(event: str, statement: str) -> None:
    op.execute(
        f"CREATE FUNCTION count_checkpoints_on_{event}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {statement}; RETURN NULL; END $$"
    )
