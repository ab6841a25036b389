"""Staged rows of queries: where they are written, when they are reused, and when they are deleted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from weir import Job, sinks, sources
from weir.connectors.spark.query_source import Query, use_planner
from weir.connectors.spark.staged_dataframe import StagedDataFrame
from weir.coordinator.progress import CheckpointSummary, JobProgress, ProgressSnapshot
from weir.errors import ConfigError, InputError
from weir.graph.compile import compile_graph
from weir.graph.schema import encode_schema
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import CheckpointCompleted, GenerationStarted
from weir.protocol.log_view import LogView
from weir.protocol.manifest import CheckpointStatistics, Manifest
from weir.spark.launch import _clean_up, _stage_queries, launch, runs_newest_generation
from weir.spark.options import RunOptions
from weir.spark.staging import AGE_S_MIN, StagingDirectories
from weir.storage.base import CheckpointStorage
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir.storage.manifests import write_manifest
from weir.storage.memory import MemoryStorage
from weir.storage.probe import SharedStorageMarker

UID = OperatorUid("rows")


def manifest_reading(directory: str) -> Manifest:
    """Return the manifest of a checkpoint whose job reads the rows staged in ``directory``."""
    schema = sources.staged_dataframe(directory, sources.iterable([{"n": 1}]).schema())
    job = Job("job")
    job.read(StagedDataFrame(directory, schema.schema_ipc), uid=UID).write(sinks.console(), uid="out")
    return Manifest(
        job="job",
        checkpoint=CheckpointId(1),
        generation=Generation(1),
        branch="b1",
        restored_from=None,
        trigger_timestamp_ms=0,
        completed_timestamp_ms=0,
        is_savepoint=False,
        drained=False,
        graph=codec.to_json(compile_graph(job.to_graph()[0], slots=1)),
        subtasks=(),
        assigners={},
        statistics=CheckpointStatistics(),
    )


def staged(directory: str, *, long_ago: bool = False) -> str:
    path = Path(directory)
    path.mkdir(parents=True)
    (path / "_SUCCESS").touch()
    if long_ago:
        for one in (path / "_SUCCESS", path):
            os.utime(one, (1, one.stat().st_mtime - AGE_S_MIN - 60))
    return directory


def completed_log(storage: CheckpointStorage, manifest: Manifest) -> LogView:
    """Write a log with one generation and one completed checkpoint, and return its view."""
    log = JobLog(storage, JobLayout("job"))
    written = write_manifest(storage, JobLayout("job"), manifest)
    log.append(GenerationStarted(Generation(1), None, "b1", CheckpointId(1), "n1", 0), at=1)
    log.append(CheckpointCompleted(Generation(1), CheckpointId(1), written.path, written.checksum, 0, "n2", 0), at=2)
    return log.view


def completed(*checkpoints: int) -> ProgressSnapshot:
    progress = JobProgress(frozenset())
    progress._completed += [
        CheckpointSummary(CheckpointId(one), "checkpoint", 0, 0, 0, 0.0, (), (), (), 0.0, 0.0, 0.0) for one in checkpoints
    ]
    return progress.snapshot()


def test_each_run_without_state_writes_its_staged_rows_to_a_new_directory(tmp_path: Path) -> None:
    shared = str(tmp_path / "staging")
    one, other = (StagingDirectories(LocalStorage(tmp_path / run), "job", shared) for run in ("run1", "run2"))
    directories = {one.directory(UID, None), one.directory(UID, None), other.directory(UID, None)}
    assert len(directories) == 3
    assert {Path(directory).parent for directory in directories} == {tmp_path / "staging" / "job" / "staged-splits" / "rows"}


def test_rows_are_staged_in_the_checkpoint_directory_by_default(tmp_path: Path) -> None:
    assert (
        StagingDirectories(LocalStorage(tmp_path), "job", None)
        .directory(UID, None)
        .startswith(f"{tmp_path}/job/staged-splits/rows/")
    )
    with pytest.raises(ConfigError, match="--staging-dir"):
        StagingDirectories(MemoryStorage(), "job", None).directory(UID, None)


def test_a_restored_run_reads_the_staged_rows_of_its_checkpoint(tmp_path: Path) -> None:
    directory = staged(str(tmp_path / "elsewhere"))
    rows = StagingDirectories(LocalStorage(tmp_path / "checkpoints"), "job", str(tmp_path / "staging"))
    assert rows.directory(UID, manifest_reading(directory)) == directory
    assert rows.directory(OperatorUid("new"), manifest_reading(directory)) != directory


def test_a_restore_is_refused_if_the_staged_rows_are_missing(tmp_path: Path) -> None:
    rows = StagingDirectories(LocalStorage(tmp_path), "job", None)
    with pytest.raises(InputError, match="Source 'rows': .* are missing .* Restore the directory"):
        rows.directory(UID, manifest_reading(str(tmp_path / "missing")))


def test_old_staging_directories_are_deleted_unless_a_checkpoint_references_them(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "checkpoints")
    rows = StagingDirectories(storage, "job", str(tmp_path / "staging"))
    referenced, unreferenced, recent = (rows.directory(UID, None) for _ in range(3))
    staged(referenced, long_ago=True)
    staged(unreferenced, long_ago=True)
    staged(recent)
    other_name = staged(str(Path(referenced).parent / "unknown-name"), long_ago=True)
    other = StagingDirectories(LocalStorage(tmp_path / "others"), "job", str(tmp_path / "staging")).directory(UID, None)
    staged(other, long_ago=True)
    rows.remove_unused(completed_log(storage, manifest_reading(referenced)))
    assert [os.path.exists(one) for one in (referenced, unreferenced, recent, other_name, other)] == [
        True,
        False,
        True,
        True,
        True,
    ]


def test_a_superseded_run_deletes_only_its_own_marker(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    rows = StagingDirectories(storage, "job", None)
    unreferenced = staged(rows.directory(UID, None), long_ago=True)
    view = completed_log(storage, manifest_reading(str(tmp_path)))
    assert [runs_newest_generation(view, completed(*checkpoints)) for checkpoints in ((1,), (2,), ())] == [True, False, False]
    older_marker, own_marker = SharedStorageMarker(storage, "job", 1), SharedStorageMarker(storage, "job", 2)
    for progress, remaining in ((completed(), 1), (completed(1), 0)):
        older_marker.write()
        own_marker.write()
        assert own_marker.other_markers() == frozenset(), (
            "``other_markers`` omits markers younger than a day, because the runs of these markers can still be waiting for slots"
        )
        os.utime(tmp_path / ".weir-probe" / "job" / "run-1", (0, 0))
        _clean_up(rows, own_marker, own_marker.other_markers(), progress)
        assert len(storage.list(".weir-probe/")) == remaining
        assert os.path.exists(unreferenced) is bool(remaining)


def test_no_staging_directory_is_deleted_if_a_manifest_is_unreadable(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    rows = StagingDirectories(storage, "job", None)
    unreferenced = staged(rows.directory(UID, None), long_ago=True)
    completed_log(storage, manifest_reading(str(tmp_path)))
    shutil.rmtree(tmp_path / "job" / "checkpoints")
    _clean_up(rows, SharedStorageMarker(storage, "job", 1), (), completed(1))
    assert os.path.exists(unreferenced)


def test_memory_storage_is_refused_for_checkpoints_of_a_spark_job(tmp_path: Path) -> None:
    job = Job("small")
    job.read(sources.iterable([{"n": 1}]), uid="in").write(sinks.console(), uid="out")
    with pytest.raises(ConfigError, match="Cannot write checkpoints to memory://: slots do not share memory"):
        launch(job, RunOptions("memory://"))


class RecordingPlanner:
    """A SparkPlanner without Spark that stages each directory only once and records the directories."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def schema(self, query: Query) -> pa.Schema:
        return pa.schema([("n", pa.int64())])

    def stage(self, query: Query, directory: str) -> StagedDataFrame:
        if not os.path.exists(os.path.join(directory, "_SUCCESS")):
            self.ran.append(directory)
            staged(directory)
        return StagedDataFrame(directory, encode_schema(self.schema(query)))


def test_the_rows_of_a_query_are_staged_again_if_the_query_changed_after_a_failed_start(tmp_path: Path) -> None:
    rows = StagingDirectories(LocalStorage(tmp_path), "job", None)
    planner = RecordingPlanner()
    with use_planner(planner):
        for query in ("select 1 as n", "select 2 as n"):
            job = Job("job")
            job.read(sources.sql(query), uid=UID).write(sinks.console(), uid="out")
            _stage_queries(job, rows, None)
        assert len(set(planner.ran)) == 2
        resumed = Job("job")
        resumed.read(sources.sql("select 2 as n"), uid=UID).write(sinks.console(), uid="out")
        _stage_queries(resumed, rows, manifest_reading(planner.ran[1]))
        assert len(planner.ran) == 2, "the staged rows of a checkpoint are reused"
        config = resumed.to_graph()[0].operators[0].config
        assert isinstance(config, dict) and config["directory"] == planner.ran[1]
