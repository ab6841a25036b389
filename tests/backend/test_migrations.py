"""Upgrades and downgrades the schema of a real Postgres, and compares it with the models."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, select, text
from sqlalchemy.orm import Session
from tests.backend.conftest import new_database, sqlalchemy_url

from weir_backend import migrate
from weir_backend.kit.database import Database
from weir_backend.models import Base
from weir_backend.recovery.schemas import PlanPreview
from weir_workers.embedded.servers.postgres import Postgres


@pytest.fixture
def empty(postgres: Postgres) -> Iterator[Engine]:
    with new_database(postgres, None) as name:
        database = Database(sqlalchemy_url(postgres, name), pool_size=2, name="weir tests")
        yield database.engine
        database.close()


_SCHEMA = """
    SELECT 'column', table_name, column_name, data_type || coalesce(character_maximum_length::text, '') || is_nullable
           || coalesce(column_default, '') || is_identity
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    ORDER BY 1, 2, 3
"""


def schema(engine: Engine) -> list[tuple[str, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(_SCHEMA)) if row[1] != "alembic_version"]


def test_the_migrated_schema_equals_the_models(postgres: Postgres, empty: Engine) -> None:
    migrate.upgrade(empty)
    assert migrate.differences(empty) == []
    with new_database(postgres, None) as name:
        made = Database(sqlalchemy_url(postgres, name), pool_size=1, name="weir tests")
        Base.metadata.create_all(made.engine)
        assert schema(empty) == schema(made.engine), "the schemas are equal, including CHECK constraints and partial indexes"
        made.close()


def test_every_migration_can_be_applied_and_reverted_and_applied_again(empty: Engine) -> None:
    revisions = [one.revision for one in ScriptDirectory.from_config(migrate.configuration()).walk_revisions()][::-1]
    for revision in revisions:
        before = schema(empty)
        migrate.upgrade(empty, revision)
        after = schema(empty)
        assert after != before
        migrate.downgrade(empty, "-1")
        assert schema(empty) == before
        migrate.upgrade(empty, revision)
        assert schema(empty) == after
    assert migrate.current(empty) == migrate.head() == revisions[-1]


def test_a_second_upgrade_does_nothing(empty: Engine) -> None:
    migrate.upgrade(empty)
    before = schema(empty)
    migrate.upgrade(empty)
    assert schema(empty) == before


# Rows of the schema of commit 22a160e, with every name and value that migration 0006 changes.
ROWS_OF_0005 = """
    INSERT INTO artifacts (digest, kind, name, size) VALUES ('a', 'py', 'orders.py', 1);
    INSERT INTO jobs (name, desired_state, spec_number, history, checkpoint_told_at, recoveries_forgotten, downtime_forgotten_ms,
                      not_before, gave_up, next_look_at, storage_look_at, tidied_until)
         VALUES ('orders', 'RUNNING', 1, 2, '2026-01-01Z', 3, 4, '2026-01-02Z', 'restarted 5 times', '2026-01-03Z', '2026-01-04Z',
                 '2026-01-05Z');
    INSERT INTO specs (job_id, number, artifact_id, body, state, asked_at) VALUES (1, 1, 1, '{}', 'VALID', '2026-01-06Z');
    INSERT INTO runs (job_id, number, spec_id, state, start, token_digest, stranded)
         VALUES (1, 1, 1, 'RUNNING', '{"mode": "fresh"}', 'x', 'its directory is on that machine only');
    INSERT INTO operations (job_id, kind, state, deadline_at)
         SELECT 1, 'suspend', unnest(array['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'ABANDONED']), now();
    INSERT INTO recovery_plans (job_id, kind, job_version, request, preview, signature, asked_at, state, phase)
         SELECT 1, 'rollback', 1, '{}', '{}', 'x', '2026-01-07Z', * FROM unnest(
             array['PROPOSED', 'APPROVED', 'APPLYING', 'APPLIED', 'FAILED', 'WITHDRAWN'],
             array[NULL, 'VERIFYING', 'STOPPING', 'STARTING', 'RETURNING', NULL]);
    INSERT INTO webhooks (name, url) VALUES ('chat', 'https://chat.example/hook');
    INSERT INTO deliveries (webhook_id, about, state, next_try_at)
         SELECT 1, 'TEST', unnest(array['PENDING', 'DELIVERED', 'GIVEN_UP']), now();
    INSERT INTO presences (part, since, seen_at) VALUES ('api', '2026-01-08Z', '2026-01-09Z');
    INSERT INTO audit_entries (user_name, action, resource) VALUES ('ann', 'withdraw', 'plan'), ('ann', 'withdraw', 'other');
    INSERT INTO events (job_id, number, kind, fields, at)
         SELECT 1, row_number() OVER (), kind, fields::jsonb, now() FROM (VALUES
             ('StateWanted', '{"desired": "RUNNING", "by": "ann"}'), ('CheckpointDeletionAsked', '{"checkpoint": 1}'),
             ('PinsCameTooLate', '{}'), ('PlanEntered', '{"plan": 1, "phase": "RETURNING"}'), ('PlanWithdrawn', '{"plan": 1}'),
             ('RestartPlanned', '{}'), ('GaveUp', '{}'), ('RunBegun', '{}'), ('RunStranded', '{}'),
             ('OperationEnded', '{"kind_": "suspend", "state": "ABANDONED"}'), ('PlanProposed', '{"kind_": "rollback"}'),
             ('AlertFired', '{"about": "lag"}'), ('AlertResolved', '{"about": "lag", "why": "it caught up"}'),
             ('CheckpointsDeleted', '{"asked_for": true}'), ('JobDeployed', '{"kind_": "untouched", "state": "ABANDONED"}')
         ) AS one (kind, fields);
"""


def rows(engine: Engine, table: str, *columns: str, order: str = "id") -> list[tuple[object, ...]]:
    """Return the given columns of all rows, or complete rows as JSON if no columns are given. Times are shortened to their day."""
    chosen = ", ".join(f"to_jsonb({column})" for column in columns) or f"to_jsonb({table}.*)"
    with engine.connect() as connection:
        found = connection.execute(text(f"SELECT {chosen} FROM {table} ORDER BY {order}"))
        return [tuple(one[:10] if isinstance(one, str) and one.startswith("2026-01-") else one for one in row) for row in found]


@pytest.fixture
def filled(empty: Engine) -> Engine:
    """A database of schema 0005 with rows."""
    migrate.upgrade(empty, "0005")
    with empty.connect() as connection:
        connection.exec_driver_sql(ROWS_OF_0005)
        connection.commit()
    return empty


def test_migration_0006_renames_tables_and_columns_and_keeps_their_rows(filled: Engine) -> None:
    migrate.upgrade(filled, "0006")
    assert rows(
        filled, "jobs", "lineage", "checkpoint_reported_at", "pruned_recoveries", "pruned_downtime_ms", "restart_at",
        "restarts_stopped_reason", "next_reconcile_at", "next_retention_at", "retention_until",
    ) == [(2, "2026-01-01", 3, 4, "2026-01-02", "restarted 5 times", "2026-01-03", "2026-01-04", "2026-01-05")]  # fmt: skip
    assert rows(filled, "specs", "enqueued_at") == [("2026-01-06",)]
    assert rows(filled, "runs", "reassignment_problem") == [("its directory is on that machine only",)]
    assert rows(filled, "heartbeats", "component", "since", "seen_at", order="1") == [("api", "2026-01-08", "2026-01-09")]
    assert rows(filled, "operations", "state") == [("PENDING",), ("RUNNING",), ("SUCCEEDED",), ("FAILED",), ("SUPERSEDED",)]
    assert rows(filled, "recovery_plans", "state", "phase", "enqueued_at") == [
        ("PROPOSED", None, "2026-01-07"),
        ("APPROVED", "VERIFYING", "2026-01-07"),
        ("APPLYING", "STOPPING", "2026-01-07"),
        ("APPLIED", "STARTING", "2026-01-07"),
        ("FAILED", "REVERTING", "2026-01-07"),
        ("DISCARDED", None, "2026-01-07"),
    ]
    assert rows(filled, "deliveries", "state") == [("PENDING",), ("DELIVERED",), ("FAILED",)]
    assert rows(filled, "audit_entries", "action", "resource") == [("discard", "plan"), ("withdraw", "other")]


def test_migration_0006_renames_events_and_their_fields_and_values(filled: Engine) -> None:
    migrate.upgrade(filled, "0006")
    assert rows(filled, "events", "kind", "fields") == [
        ("DesiredStateChanged", {"desired_state": "RUNNING", "by": "ann"}),
        ("CheckpointDeletionRequested", {"checkpoint": 1}),
        ("PinsRejected", {}),
        ("PlanPhaseChanged", {"plan": 1, "phase": "REVERTING"}),
        ("PlanDiscarded", {"plan": 1}),
        ("RestartScheduled", {}),
        ("RestartsStopped", {}),
        ("RunCreated", {}),
        ("ReassignmentBlocked", {}),
        ("OperationEnded", {"operation_kind": "suspend", "state": "SUPERSEDED"}),
        ("PlanProposed", {"plan_kind": "rollback"}),
        ("AlertFired", {"rule_kind": "lag"}),
        ("AlertResolved", {"rule_kind": "lag", "resolution": "it caught up"}),
        ("CheckpointsDeleted", {"requested": True}),
        ("JobDeployed", {"kind_": "untouched", "state": "ABANDONED"}),
    ]


def test_a_downgrade_of_migration_0006_restores_the_same_rows(filled: Engine) -> None:
    tables = {"jobs", "specs", "runs", "operations", "recovery_plans", "deliveries", "audit_entries", "events"}
    before = {table: rows(filled, table) for table in tables}
    migrate.upgrade(filled, "0006")
    assert rows(filled, "events") != before["events"]
    migrate.downgrade(filled, "0005")
    assert {table: rows(filled, table) for table in tables} == before
    assert rows(filled, "presences", "part", order="1") == [("api",)]


def test_the_models_can_read_rows_of_schema_0005_after_an_upgrade(filled: Engine) -> None:
    """The migrations create the three alert rules of a new database."""
    migrate.upgrade(filled)
    with Session(filled) as session:
        found = {mapper.local_table.name: len(session.scalars(select(mapper)).all()) for mapper in Base.registry.mappers}
    assert {table: count for table, count in found.items() if count} == {
        "artifacts": 1, "jobs": 1, "specs": 1, "runs": 1, "operations": 5, "recovery_plans": 6, "webhooks": 1, "deliveries": 3,
        "heartbeats": 1, "audit_entries": 2, "events": 15, "alert_rules": 3,
    }  # fmt: skip


PREVIEW = {
    "checkpoint": None, "completed_at": None, "age_s": None, "state_bytes": None, "is_savepoint": False, "origin": "/srv/a", "anew": False,
    "stop_with": "Suspend", "steps": [], "restarts": ["in"], "warnings": [], "duplicates": ["out"],
    "inspection": {
        "whole": True, "damage": None, "files": 1, "bytes": 9, "abandoned": [3], "returning": [1], "again": [2], "sources": [], "sinks": [],
        "notes": [], "misfit": None,
        "origin": {"job": "a", "checkpoint": 7, "completed_at": "2026-11-21T20:00:00Z", "state_bytes": 9, "is_savepoint": True},
    },
}  # fmt: skip
UNINSPECTED = PREVIEW | {"inspection": None}
ROWS_OF_0006 = """
    INSERT INTO jobs (id, name, desired_state, spec_number) OVERRIDING SYSTEM VALUE VALUES (1, 'job', 'RUNNING', 1);
    INSERT INTO artifacts (id, digest, kind, name, size) OVERRIDING SYSTEM VALUE VALUES (1, 'x', 'py', 'job.py', 1);
    INSERT INTO specs (job_id, number, artifact_id, body, state) VALUES
        (1, 1, 1, '{"restart": {"well_after_s": 60.0}}', 'VALID'), (1, 2, 1, '{"parallelism": 2}', 'VALID');
    INSERT INTO recovery_plans (id, job_id, kind, state, job_version, request, preview, signature) OVERRIDING SYSTEM VALUE VALUES
        (1, 1, 'restore', 'APPLIED', 1, '{"spec": 1, "desired_before": "RUNNING"}', :preview, ''),
        (2, 1, 'restore', 'APPLYING', 1, '{}', :preview, ''),
        (3, 1, 'restore', 'PROPOSED', 1, '{}', :uninspected, ''),
        (4, 1, 'restore', 'APPROVED', 1, '{}', :preview, '');
    INSERT INTO operations (id, job_id, kind, state, deadline_at, result) OVERRIDING SYSTEM VALUE VALUES
        (1, 1, 'verify', 'SUCCEEDED', now(), '{"checkpoint": 1, "whole": true}'), (2, 1, 'verify', 'FAILED', now(), NULL),
        (3, 1, 'delete', 'SUCCEEDED', now(), '{"checkpoint": 2, "left": "a.bin"}');
    INSERT INTO events (job_id, number, kind, fields, at) VALUES
        (1, 1, 'PlanInspected', '{"plan": 1, "whole": true, "damage": null, "misfit": "no"}', now()),
        (1, 2, 'CheckpointFoundWhole', '{"checkpoint": 1, "damage": null}', now()),
        (1, 3, 'AlertNotDelivered', '{"about": "FIRING"}', now()), (1, 4, 'CheckpointsDeleted', '{"left": null}', now());
"""


def test_migration_0007_renames_stored_fields_and_discards_open_plans(empty: Engine) -> None:
    migrate.upgrade(empty, "0006")
    with empty.begin() as connection:
        for statement in ROWS_OF_0006.split(";\n")[:-1]:
            values = {"preview": json.dumps(PREVIEW), "uninspected": json.dumps(UNINSPECTED)}
            connection.execute(text(statement), {name: value for name, value in values.items() if f":{name}" in statement})
    columns = {
        "recovery_plans": ("id", "request", "preview"),
        "specs": ("body",),
        "operations": ("result",),
        "events": ("kind", "fields"),
    }
    before = {table: rows(empty, table, *names) for table, names in columns.items()}
    migrate.upgrade(empty, "0007")
    after = {table: rows(empty, table, *names) for table, names in columns.items()}
    assert after["specs"] == [({"restart": {"reset_after_s": 60.0}},), ({"parallelism": 2},)]
    assert after["operations"] == [
        ({"checkpoint": 1, "intact": True},),
        (None,),
        ({"checkpoint": 2, "deletion_problem": "a.bin"},),
    ]
    assert after["events"] == [
        ("PlanInspected", {"plan": 1, "intact": True, "damage": None, "incompatibility": "no"}),
        ("CheckpointIntact", {"checkpoint": 1, "damage": None}),
        ("AlertNotDelivered", {"message_kind": "FIRING"}),
        ("CheckpointsDeleted", {"deletion_problem": None}),
    ]
    assert after["recovery_plans"][0][1] == {"spec": 1, "desired_state_before": "RUNNING"}
    for _, _, preview in after["recovery_plans"]:
        assert PlanPreview.model_validate(preview).model_dump(mode="json") == preview, "the API shows what is stored"
    shown = PlanPreview.model_validate(after["recovery_plans"][0][2])
    assert (shown.path, shown.restarted_operators, shown.sinks_with_duplicates) == ("/srv/a", ["in"], ["out"])
    assert shown.inspection is not None and shown.inspection.external_checkpoint is not None
    assert (shown.inspection.reinstated, shown.inspection.recommitted, shown.inspection.external_checkpoint.checkpoint) == (
        [1],
        [2],
        7,
    )
    assert rows(empty, "recovery_plans", "state", "problem IS NOT NULL", "ended_at IS NOT NULL") == [
        ("APPLIED", False, False), ("APPLYING", False, False), ("DISCARDED", True, True), ("DISCARDED", True, True),
    ]  # fmt: skip
    migrate.downgrade(empty, "0006")
    assert {table: rows(empty, table, *names) for table, names in columns.items()} == before


def test_migration_0008_copies_pins_with_their_holders(filled: Engine) -> None:
    migrate.upgrade(filled, "0007")
    with filled.connect() as connection:
        connection.exec_driver_sql("""
            INSERT INTO checkpoints (job_id, run_id, number, generation, state, trigger, is_savepoint, triggered_at, subtasks, pinned,
                                     pinned_reason)
                 SELECT 1, 1, row_number() OVER (), 1, 'COMPLETED', 'periodic', false, now(), 1, pinned, reason FROM (VALUES
                     (true, 'before the release'), (true, ''), (false, ''), (true, 'plan 3 restores it'),
                     (true, 'an undo of plan 4 would return to it'), (true, 'plan 99 restores it')) AS one (pinned, reason)""")
        connection.commit()
    migrate.upgrade(filled, "0008")
    assert rows(filled, "checkpoint_pins", "checkpoint_id", "holder", "user_id", "plan_id", "reason", order="checkpoint_id") == [
        (1, "user", None, None, "before the release"),
        (2, "user", None, None, ""),
        (4, "plan", None, 3, "plan 3 restores it"),
        (5, "undo", None, 4, "an undo of plan 4 would return to it"),
        (6, "user", None, None, "plan 99 restores it"),
    ]


def test_migration_0016_counts_the_stored_checkpoints(empty: Engine) -> None:
    migrate.upgrade(empty, "0015")
    with empty.connect() as connection:
        connection.exec_driver_sql("""
            INSERT INTO artifacts (digest, kind, name, size) VALUES ('a', 'py', 'orders.py', 1);
            INSERT INTO jobs (name, desired_state, spec_number) VALUES ('orders', 'RUNNING', 1), ('idle', 'RUNNING', 1);
            INSERT INTO specs (job_id, number, artifact_id, body, state) VALUES (1, 1, 1, '{}', 'VALID');
            INSERT INTO runs (job_id, number, spec_id, state, start, token_digest) VALUES (1, 1, 1, 'RUNNING', '{}', 'x');
            INSERT INTO checkpoints (job_id, run_id, number, generation, state, trigger, is_savepoint, triggered_at, subtasks)
                 SELECT 1, 1, number, 1, state, 'periodic', number = 1, now(), 1
                   FROM unnest(array['COMPLETED', 'COMPLETED', 'FAILED', 'IN_PROGRESS']) WITH ORDINALITY AS one (state, number);
        """)
        connection.commit()
    migrate.upgrade(empty, "0016")
    columns = ("completed_checkpoints", "failed_checkpoints", "completed_savepoints")
    assert rows(empty, "jobs", *columns) == [(2, 1, 1), (0, 0, 0)]
    # An older version of Weir, which does not know the counters, changes a checkpoint.
    with empty.connect() as connection:
        connection.exec_driver_sql("UPDATE checkpoints SET state = 'COMPLETED' WHERE number > 2")
        connection.commit()
    assert rows(empty, "jobs", *columns) == [(4, 0, 1), (0, 0, 0)]
