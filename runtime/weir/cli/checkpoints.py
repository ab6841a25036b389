"""``weir checkpoints``: what can be restored, what is in it, and whether it is whole."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from weir.cli.exits import Exit
from weir.errors import CheckpointError, ConfigError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId
from weir.protocol.logview import CheckpointStatus
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage
from weir.storage.inspection import CheckpointInfo, list_checkpoints, list_jobs, verify
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout, encode_segment
from weir.storage.manifests import read_manifest

PIPED_COLUMNS = 160


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
        typer.echo(json.dumps([codec.to_json(info) for info in infos], indent=2))
        return
    kept = [info for info in infos if retired or info.status is not CheckpointStatus.RETIRED]
    table = _table(title=f"checkpoints of {job}")
    for column in ("id", "completed (UTC)", "status", "kind", "generation", "branch", "state"):
        table.add_column(column, justify="right" if column in ("id", "generation", "state") else "left")
    for info in kept:
        table.add_row(*_row(info))
    _print(table)
    if not infos:
        typer.echo("none has completed yet")
    elif len(kept) < len(infos):
        typer.echo(f"{len(infos) - len(kept)} older ones are retired and gone (--retired lists them)")


def _row(info: CheckpointInfo) -> tuple[str, ...]:
    kind = "savepoint" if info.is_savepoint else "checkpoint"
    return (
        str(info.checkpoint),
        _time(info.timestamp_ms),
        info.status + (", pinned" if info.pinned else ""),
        kind,
        str(info.generation),
        info.branch,
        _size(info.state_bytes),
    )


def show_one(storage: CheckpointStorage, job: str, checkpoint: CheckpointId, *, as_json: bool) -> None:
    layout = JobLayout(job)
    view, _ = JobLog(storage, layout).read()
    manifest = read_manifest(storage, layout, view.restore_point(checkpoint))
    if as_json:
        typer.echo(json.dumps(codec.to_json(manifest), indent=2))
        return
    statistics = manifest.statistics
    typer.echo(f"checkpoint {checkpoint} of {job}, generation {manifest.generation}, branch {manifest.branch}")
    typer.echo(f"  completed {_time(manifest.completed_timestamp_ms)} UTC, restored from {manifest.restored_from or 'nothing'}")
    typer.echo(
        f"  end to end {statistics.end_to_end_ms:.0f} ms, alignment at most {statistics.alignment_ms_max:.1f} ms, "
        f"sync at most {statistics.sync_us_max} us, async at most {statistics.async_ms_max:.0f} ms"
    )
    table = _table()
    for column in ("operator", "subtasks", "rows", "state", "splits in work", "committables"):
        table.add_column(column, justify="left" if column == "operator" else "right")
    for cells in _operators(manifest):
        table.add_row(*cells)
    _print(table)


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
                _size(sum(file.bytes for file in files)),
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
        typer.echo(json.dumps([{"intact": report.intact} | dict(_object(report)) for report in reports], indent=2))
    else:
        for report in reports:
            state = "whole" if report.intact else "DAMAGED"
            typer.echo(f"checkpoint {report.checkpoint}: {state}, {report.files} state files, {_size(report.bytes)}")
            for problem in report.problems:
                typer.echo(f"  {problem.path} {problem.problem}")
        if not reports:
            typer.echo("there is no checkpoint to verify")
    return Exit.OK if all(report.intact for report in reports) else Exit.DAMAGED


def _show_damaged_log(layout: JobLayout, problem: str, *, as_json: bool) -> Exit:
    if as_json:
        problems = [{"path": layout.log, "problem": problem}]
        typer.echo(json.dumps([{"intact": False, "checkpoint": None, "files": 0, "bytes": 0, "problems": problems}], indent=2))
    else:
        typer.echo(f"the log of job {layout.job}: DAMAGED")
        typer.echo(f"  {layout.log} {problem}")
    return Exit.DAMAGED


def _object(report: object) -> dict[str, object]:
    value = codec.to_json(report)
    assert isinstance(value, dict)
    return dict(value)


def _table(title: str | None = None) -> Table:
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)


def _print(table: Table) -> None:
    # Where there is no terminal nobody has said how wide it is, and a row in one line can be searched.
    Console(width=None if Console().is_terminal else PIPED_COLUMNS).print(table)


def _time(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _size(count: int) -> str:
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= limit:
            return f"{count / limit:.1f} {unit}"
    return f"{count} B"
