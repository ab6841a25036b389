"""``weir checkpoints``: what can be restored, what is in it, and whether it is whole."""

from __future__ import annotations

import typer

from weir.cli.exits import Exit
from weir.cli.output import print_json
from weir.cli.tables import new_table, print_table, size_text, time_text
from weir.errors import CheckpointError, ConfigError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId
from weir.protocol.logview import CheckpointStatus
from weir.protocol.manifest import Manifest
from weir.protocol.paths import encode_segment
from weir.storage.base import CheckpointStorage
from weir.storage.inspection import CheckpointInfo, list_checkpoints, list_jobs, verify
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest


def choose_job(storage: CheckpointStorage, job: str | None) -> str:
    """Raises ConfigError naming the jobs there are."""
    jobs = list_jobs(storage)
    if job is None and len(jobs) == 1:
        return jobs[0]
    if not jobs:
        raise ConfigError(f"there is no job in {storage.url}: is it the directory given by --checkpoint-dir?")
    # By segments, as a very long name is not in the list as it was given.
    if job is None or encode_segment(job) not in map(encode_segment, jobs):
        raise ConfigError(f"{storage.url} holds {', '.join(jobs)}: choose one with --job")
    return job


def show_list(storage: CheckpointStorage, job: str, *, retired: bool, as_json: bool) -> None:
    """``retired``: those too whose files are gone (as JSON always)."""
    infos = list_checkpoints(storage, JobLayout(job))
    if as_json:
        print_json([codec.to_json(info) for info in infos])
        return
    kept = [info for info in infos if retired or info.status is not CheckpointStatus.RETIRED]
    table = new_table(title=f"checkpoints of {job}")
    for column in ("id", "completed (UTC)", "status", "kind", "generation", "branch", "state"):
        table.add_column(column, justify="right" if column in ("id", "generation", "state") else "left")
    for info in kept:
        table.add_row(*_row(info))
    print_table(table)
    if not infos:
        typer.echo("none has completed yet")
    elif len(kept) < len(infos):
        typer.echo(f"{len(infos) - len(kept)} older ones are retired and gone (--retired lists them)")


def _row(info: CheckpointInfo) -> tuple[str, ...]:
    kind = "savepoint" if info.is_savepoint else "checkpoint"
    return (
        str(info.checkpoint),
        time_text(info.timestamp_ms),
        info.status + (", pinned" if info.pinned else ""),
        kind,
        str(info.generation),
        info.branch,
        size_text(info.state_bytes),
    )


def show_one(storage: CheckpointStorage, job: str, checkpoint: CheckpointId, *, as_json: bool) -> None:
    layout = JobLayout(job)
    view, _ = JobLog(storage, layout).read()
    manifest = read_manifest(storage, layout, view.restore_point(checkpoint))
    if as_json:
        print_json(codec.to_json(manifest))
        return
    statistics = manifest.statistics
    typer.echo(f"checkpoint {checkpoint} of {job}, generation {manifest.generation}, branch {manifest.branch}")
    typer.echo(
        f"  completed {time_text(manifest.completed_timestamp_ms)} UTC, restored from {manifest.restored_from or 'nothing'}"
    )
    typer.echo(
        f"  end to end {statistics.end_to_end_ms:.0f} ms, alignment at most {statistics.alignment_ms_max:.1f} ms, "
        f"sync at most {statistics.sync_us_max} us, async at most {statistics.async_ms_max:.0f} ms"
    )
    table = new_table()
    for column in ("operator", "subtasks", "rows", "state", "splits in work", "committables"):
        table.add_column(column, justify="left" if column == "operator" else "right")
    for cells in _operators(manifest):
        table.add_row(*cells)
    print_table(table)


def _operators(manifest: Manifest) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for uid in sorted({snapshot.operator for snapshot in manifest.operators()}):
        mine = [snapshot for snapshot in manifest.operators() if snapshot.operator == uid]
        files = [file for snapshot in mine for file in snapshot.files]
        rows.append(
            (
                uid,
                str(len(mine)),
                f"{sum(file.rows for file in files):,}",
                size_text(sum(file.bytes for file in files)),
                str(sum(len(snapshot.splits) for snapshot in mine)),
                str(sum(len(snapshot.committables) for snapshot in mine)),
            )
        )
    return rows


def show_verification(storage: CheckpointStorage, job: str, checkpoint: CheckpointId | None, *, as_json: bool) -> Exit:
    """Of one checkpoint, or of all that can be restored. Without a log that can be read nothing can be."""
    layout = JobLayout(job)
    try:
        view, _ = JobLog(storage, layout).read()
    except CheckpointError as error:
        return _show_damaged_log(layout, str(error), as_json=as_json)
    wanted = [checkpoint] if checkpoint is not None else [record.checkpoint for record in view.kept]
    reports = [verify(storage, layout, one) for one in wanted]
    if as_json:
        print_json([{"intact": report.intact} | dict(_object(report)) for report in reports])
    else:
        for report in reports:
            state = "whole" if report.intact else "DAMAGED"
            typer.echo(f"checkpoint {report.checkpoint}: {state}, {report.files} state files, {size_text(report.bytes)}")
            for problem in report.problems:
                typer.echo(f"  {problem.path} {problem.problem}")
        if not reports:
            typer.echo("there is no checkpoint to verify")
    return Exit.OK if all(report.intact for report in reports) else Exit.DAMAGED


def _show_damaged_log(layout: JobLayout, problem: str, *, as_json: bool) -> Exit:
    if as_json:
        problems = [{"path": layout.log, "problem": problem}]
        print_json([{"intact": False, "checkpoint": None, "files": 0, "bytes": 0, "problems": problems}])
    else:
        typer.echo(f"the log of job {layout.job}: DAMAGED")
        typer.echo(f"  {layout.log} {problem}")
    return Exit.DAMAGED


def _object(report: object) -> dict[str, object]:
    value = codec.to_json(report)
    assert isinstance(value, dict)
    return dict(value)
