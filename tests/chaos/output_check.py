"""Checks that the committed output of a run could be the output of a run without failures.

Polars computes the expected output from the input. The check requires:

- No record is lost, duplicated or out of order, and no file is truncated.
- No published file belongs to a checkpoint of an abandoned branch, and no published file is still staged.
- All kept checkpoints are intact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl
from tests.chaos.chaos_job import CODE_OF_KEY
from tests.chaos.dataset import origin

from weir.connectors.files.file_system import FileSystem
from weir.connectors.files.output_layout import OutputLayout, PartName
from weir.protocol.log_view import LogView
from weir.storage.inspection import verify
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage

SHOWN = 5


def check_run(records: pl.DataFrame, *, keys: Path, groups: Path, checkpoints: Path, taken: Path | None = None) -> list[str]:
    """Return a sentence for each problem. ``keys`` and ``groups`` are the output directories. ``taken`` contains the output that
    a consumer has removed from the output directories. Deletes the files in ``taken`` whose output was revoked later."""
    storage, layout = open_storage(str(checkpoints), {}), JobLayout("chaos")
    view, _ = JobLog(storage, layout).read()
    problems: list[str] = []
    for directory in (keys, groups):
        problems += _wrong_parts(directory, view)
    for record in view.kept:
        report = verify(storage, layout, record.checkpoint)
        problems += [f"checkpoint {record.checkpoint}: {problem.path} {problem.problem}" for problem in report.problems]
    # A consumer can remove output that a later rollback revokes. The job publishes the records of revoked output again, so the
    # check must not count both copies.
    for directory in (taken / keys.name, taken / groups.name) if taken is not None else ():
        for _, path in _abandoned(directory, view):
            os.unlink(path)
    return problems + check_output(records, keys=keys, groups=groups, taken=taken)


def check_output(records: pl.DataFrame, *, keys: Path, groups: Path, taken: Path | None = None) -> list[str]:
    """Check only the published rows, not the checkpoints. Return a sentence for each problem."""
    of_keys, of_groups = ([one, *([taken / one.name] if taken is not None else [])] for one in (keys, groups))
    try:
        per_key = _read(of_keys, pl.read_parquet, {"key": pl.String, "n": pl.Int64, "total": pl.Int64})
        per_group = _read(of_groups, _read_lines, {"group": pl.Int64, "n": pl.Int64, "total": pl.Int64})
    except (OSError, ValueError) as error:
        return [f"torn: {error}"]
    return [*_wrong_keys(records, per_key), *_wrong_groups(records, per_group)]


def parts_of(directory: Path) -> list[tuple[PartName, str]]:
    """Return the names and paths of the published files in reading order."""
    return OutputLayout(str(directory)).published_parts(FileSystem())


def _wrong_parts(directory: Path, view: LogView) -> Iterator[str]:
    for _, path in _abandoned(directory, view):
        yield f"{path} is published, but its checkpoint is on an abandoned branch"
    published = {part for part, _ in parts_of(directory)}
    layout = OutputLayout(str(directory))
    for name in os.listdir(layout.staging) if os.path.isdir(layout.staging) else ():
        if PartName.parse(name) in published:
            yield f"{directory.name}: {name} is published but still staged"


def _abandoned(directory: Path, view: LogView) -> list[tuple[PartName, str]]:
    """Return the files in ``directory`` whose checkpoints are unknown or on abandoned branches."""
    limits = view.ancestry_limits(view.newest.checkpoint if view.newest else None)
    return [one for one in parts_of(directory) if one[0].checkpoint > limits.get(one[0].attempt.generation, 0)]


def _read(
    directories: Sequence[Path], reader: Callable[[Path], pl.DataFrame], schema: dict[str, type[pl.DataType]]
) -> pl.DataFrame:
    """Return all rows, ordered by checkpoint, writer, file and row."""
    frames = []
    for _, path in sorted(part for directory in directories for part in parts_of(directory)):
        try:
            frames.append(reader(Path(path)).select(pl.col(column).cast(kind) for column, kind in schema.items()))
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            raise ValueError(f"{path} cannot be read: {error}") from error
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _read_lines(path: Path) -> pl.DataFrame:
    if not path.read_bytes().endswith(b"\n"):
        raise ValueError("the last line is incomplete")
    return pl.read_ndjson(path)


def _wrong_keys(records: pl.DataFrame, found: pl.DataFrame) -> Iterator[str]:
    emitted = found.with_columns(
        key=pl.col("key").str.strip_prefix("key-").cast(pl.Int64),
        id=pl.col("total") - pl.col("total").shift(1, fill_value=0).over("key"),
        expected=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("key"),
    )
    yield from _report_rows("running counts per key are not 1, 2, 3", emitted.filter(pl.col("n") != pl.col("expected")))
    yield from _compare(records, emitted.select("id", "key"), ["id", "key"])
    ordered = emitted.with_columns(origin=origin()).with_columns(before=pl.col("id").shift(1).over("key", "origin"))
    yield from _report_rows("records of one key and split are out of order", ordered.filter(pl.col("id") <= pl.col("before")))


def _wrong_groups(records: pl.DataFrame, found: pl.DataFrame) -> Iterator[str]:
    emitted = found.with_columns(
        code=pl.col("total") - pl.col("total").shift(1, fill_value=0).over("group"),
        expected=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("group"),
    )
    yield from _report_rows("running counts per group are not 1, 2, 3", emitted.filter(pl.col("n") != pl.col("expected")))
    decoded = emitted.select(key=pl.col("code") // CODE_OF_KEY, n=pl.col("code") % CODE_OF_KEY)
    decoded = decoded.with_columns(position=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("key"))
    yield from _report_rows("a group received counts of a key out of order", decoded.filter(pl.col("n") != pl.col("position")))
    expected_rows = records.select("key", n=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("key"))
    yield from _compare(expected_rows, decoded.select("key", "n"), ["key", "n"])


def _compare(expected_rows: pl.DataFrame, found: pl.DataFrame, columns: list[str]) -> Iterator[str]:
    lost = expected_rows.join(found, on=columns, how="anti")
    unexpected = found.join(expected_rows, on=columns, how="anti")
    duplicated = found.filter(pl.struct(columns).is_duplicated())
    yield from _report_rows("lost", lost)
    yield from _report_rows("duplicated", duplicated)
    yield from _report_rows("not in the input", unexpected)


def _report_rows(what: str, rows: pl.DataFrame) -> Iterator[str]:
    if rows.height:
        yield f"{what}: {rows.height} rows, first {rows.head(SHOWN).rows(named=True)}"
