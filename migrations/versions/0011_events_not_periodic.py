"""Index of events that do not report a periodic checkpoint"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

NAME = "ix_events_not_periodic"


def upgrade() -> None:
    # The event log hides routine checkpoints. A job can have half a million events of routine checkpoints, and only a few other events.
    condition = "kind NOT IN ('CheckpointTriggered', 'CheckpointCompleted') OR fields ->> 'trigger' IS DISTINCT FROM 'periodic'"
    op.create_index(NAME, "events", ["job_id", "number"], postgresql_where=sa.text(condition))


def downgrade() -> None:
    op.drop_index(NAME, table_name="events")
