"""``weir checkpoints DIR``: list, show and verify the checkpoints in checkpoint storage."""

from __future__ import annotations

import typer

from weir.cli.exit_codes import Exit
from weir.cli.output import new_table, print_json, print_table, size_text, time_text
from weir.errors import CheckpointError, ConfigError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId
from weir.protocol.log_view import CheckpointStatus
from weir.protocol.manifest import Manifest
from weir.protocol.paths import encode_segment
from weir.storage.base import CheckpointStorage
from weir.storage.inspection import CheckpointInfo, list_checkpoints, list_jobs, read_checkpoint, verify, verify_restorable
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage


def run_action(directory: str, job: str | None, action: str, number: int | None, *, retired: bool, as_json: bool) -> Exit:
    """Run ``list``, ``show`` or ``verify``. Raises ConfigError, CheckpointError, StorageError."""
    storage = open_storage(directory)
    name = choose_job(storage, job)
    checkpoint = CheckpointId(number) if number is not None else None
    match action:
        case "list":
            print_list(storage, name, retired=retired, as_json=as_json)
        case "show" if checkpoint is not None:
            print_one(storage, name, checkpoint, as_json=as_json)
        case "show":
            raise ConfigError("The checkpoint id is missing. Run weir checkpoints DIR show ID.")
        case "verify":
            return print_verification(storage, name, checkpoint, as_json=as_json)
        case _:
            raise ConfigError(f"Unknown action '{action}'. Use list, show or verify.")
    return Exit.OK


def choose_job(storage: CheckpointStorage, job: str | None) -> str:
    """Return ``job``. If ``job`` is None, return the only job in the storage.

    Raises ConfigError if the storage contains no jobs. Raises ConfigError with a list of the jobs if the storage does not contain
    ``job``, or if ``job`` is None and the storage contains several jobs.
    """
    jobs = list_jobs(storage)
    if job is None and len(jobs) == 1:
        return jobs[0]
    if not jobs:
        raise ConfigError(
            f"No job found in {storage.url}. Specify the directory with the checkpoints: the value of --checkpoint-dir when the job was started."
        )
    # Compare encoded names, because ``list_jobs`` returns only the encoded form of a very long name.
    if job is None or encode_segment(job) not in map(encode_segment, jobs):
        raise ConfigError(f"{storage.url} contains the jobs {', '.join(jobs)}. Choose a job with --job.")
    return job


def print_list(storage: CheckpointStorage, job: str, *, retired: bool, as_json: bool) -> None:
    """Print the checkpoints of a job. The table includes retired checkpoints only with ``retired``; JSON always includes them."""
    infos = list_checkpoints(storage, JobLayout(job))
    if as_json:
        print_json([codec.to_json(info) for info in infos])
        return
    shown = [info for info in infos if retired or info.status is not CheckpointStatus.RETIRED]
    table = new_table(title=f"Checkpoints of {job}")
    for column in ("checkpoint", "completed (UTC)", "status", "kind", "generation", "branch", "state"):
        table.add_column(column, justify="right" if column in ("checkpoint", "generation", "state") else "left")
    for info in shown:
        table.add_row(*_row(info))
    print_table(table)
    if not infos:
        typer.echo("No checkpoint has completed yet.")
    elif len(shown) < len(infos):
        typer.echo(f"{len(infos) - len(shown)} retired checkpoints are not shown. To list them, add --retired.")


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


def print_one(storage: CheckpointStorage, job: str, checkpoint: CheckpointId, *, as_json: bool) -> None:
    layout = JobLayout(job)
    view, _ = JobLog(storage, layout).read()
    manifest = read_checkpoint(storage, layout, view.restore_point(checkpoint))
    if as_json:
        print_json(codec.to_json(manifest))
        return
    statistics = manifest.statistics
    typer.echo(f"Checkpoint {checkpoint} of {job}, generation {manifest.generation}, branch {manifest.branch}")
    typer.echo(
        f"  completed {time_text(manifest.completed_timestamp_ms)} UTC, restored from {manifest.restored_from or 'nothing'}"
    )
    typer.echo(
        f"  end to end {statistics.end_to_end_ms:.0f} ms, max alignment {statistics.alignment_ms_max:.1f} ms, "
        f"max sync {statistics.sync_us_max} us, max async {statistics.async_ms_max:.0f} ms"
    )
    table = new_table()
    for column in ("operator", "subtasks", "rows", "state", "unfinished splits", "committables"):
        table.add_column(column, justify="left" if column == "operator" else "right")
    for cells in _operator_rows(manifest):
        table.add_row(*cells)
    print_table(table)


def _operator_rows(manifest: Manifest) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for uid in sorted({snapshot.operator for snapshot in manifest.operators()}):
        snapshots = [snapshot for snapshot in manifest.operators() if snapshot.operator == uid]
        files = [file for snapshot in snapshots for file in snapshot.files]
        rows.append(
            (
                uid,
                str(len(snapshots)),
                f"{sum(file.rows for file in files):,}",
                size_text(sum(file.bytes for file in files)),
                str(sum(len(snapshot.splits) for snapshot in snapshots)),
                str(sum(len(snapshot.committables) for snapshot in snapshots)),
            )
        )
    return rows


def print_verification(storage: CheckpointStorage, job: str, checkpoint: CheckpointId | None, *, as_json: bool) -> Exit:
    """Verify one checkpoint, or all restorable checkpoints if ``checkpoint`` is None.

    If the job log cannot be read, report the job log as damaged.
    """
    layout = JobLayout(job)
    try:
        JobLog(storage, layout).read()
    except CheckpointError as error:
        return _print_damaged_log(layout, str(error), as_json=as_json)
    reports = [verify(storage, layout, checkpoint)] if checkpoint is not None else list(verify_restorable(storage, layout))
    if as_json:
        print_json([{"intact": report.intact} | _json_object(report) for report in reports])
    else:
        for report in reports:
            state = "verified" if report.intact else "DAMAGED"
            typer.echo(f"Checkpoint {report.checkpoint}: {state}, {report.files} state files, {size_text(report.bytes)}")
            for problem in report.problems:
                typer.echo(f"  {problem.path} {problem.problem}")
        if not reports:
            typer.echo("There is no checkpoint to verify.")
    return Exit.OK if all(report.intact for report in reports) else Exit.DAMAGED


def _print_damaged_log(layout: JobLayout, problem: str, *, as_json: bool) -> Exit:
    if as_json:
        problems = [{"path": layout.log, "problem": problem}]
        print_json([{"intact": False, "checkpoint": None, "files": 0, "bytes": 0, "problems": problems}])
    else:
        typer.echo(f"Log of job '{layout.job}': DAMAGED")
        typer.echo(f"  {layout.log} {problem}")
    return Exit.DAMAGED


def _json_object(report: object) -> dict[str, object]:
    value = codec.to_json(report)
    assert isinstance(value, dict)
    return dict(value)
