"""The oracle: whether what a run has committed is what one execution without failures could have committed.

Computed from the input by polars alone. Nothing lost, doubled, torn or out of order; no file of a checkpoint that is not
on the job's line; every checkpoint that is kept is whole; nothing published that is still staged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
from tests.chaos.chaos_job import CODE_OF_KEY
from tests.chaos.dataset import origin

from weir.connectors.staging import OutputLayout, PartName
from weir.protocol.logview import LogView
from weir.storage.inspection import verify
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage

SHOWN = 5


def judge(records: pl.DataFrame, *, keys: Path, groups: Path, checkpoints: Path) -> list[str]:
    """What is wrong, one sentence each. ``keys`` and ``groups``: the output directories."""
    storage, layout = open_storage(str(checkpoints), {}), JobLayout("chaos")
    view, _ = JobLog(storage, layout).read()
    problems: list[str] = []
    for directory in (keys, groups):
        problems += _wrong_parts(directory, view)
    for record in view.kept:
        report = verify(storage, layout, record.checkpoint)
        problems += [f"checkpoint {record.checkpoint}: {problem.path} {problem.problem}" for problem in report.problems]
    return problems + judge_output(records, keys=keys, groups=groups)


def judge_output(records: pl.DataFrame, *, keys: Path, groups: Path) -> list[str]:
    """The same of the published rows alone."""
    try:
        per_key = _read(keys, pl.read_parquet, {"key": pl.String, "n": pl.Int64, "total": pl.Int64})
        per_group = _read(groups, _read_lines, {"group": pl.Int64, "n": pl.Int64, "total": pl.Int64})
    except (OSError, ValueError) as error:
        return [f"torn: {error}"]
    return [*_wrong_keys(records, per_key), *_wrong_groups(records, per_group)]


def parts_of(directory: Path) -> list[tuple[PartName, str]]:
    """The published files in the order in which a reader takes them."""
    names = os.listdir(directory) if directory.is_dir() else []
    return sorted((part, name) for name in names if (part := PartName.parse(name)) is not None)


def _wrong_parts(directory: Path, view: LogView) -> Iterator[str]:
    parts = parts_of(directory)
    line = view.line(view.newest.checkpoint if view.newest else None)
    ends = {int(generation): int(checkpoint) for generation, checkpoint in line.items()}
    for part, name in parts:
        if part.checkpoint > ends.get(part.generation, 0):
            yield f"{directory.name}/{name}: published, and its checkpoint is not on the job's line"
    published = {part for part, _ in parts}
    layout = OutputLayout(str(directory))
    for name in os.listdir(layout.staging) if os.path.isdir(layout.staging) else ():
        if PartName.parse(name) in published:
            yield f"{directory.name}: {name} is published and still staged"


def _read(directory: Path, reader: Callable[[Path], pl.DataFrame], schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    """All rows in order: by checkpoint, writer, file, row."""
    frames = []
    for _, name in parts_of(directory):
        try:
            frames.append(reader(directory / name).select(pl.col(column).cast(kind) for column, kind in schema.items()))
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            raise ValueError(f"{directory.name}/{name} cannot be read: {error}") from error
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _read_lines(path: Path) -> pl.DataFrame:
    if not path.read_bytes().endswith(b"\n"):
        raise ValueError("the last line has no end")
    return pl.read_ndjson(path)


def _wrong_keys(records: pl.DataFrame, found: pl.DataFrame) -> Iterator[str]:
    seen = found.with_columns(
        key=pl.col("key").str.strip_prefix("key-").cast(pl.Int64),
        id=pl.col("total") - pl.col("total").shift(1, fill_value=0).over("key"),
        expected=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("key"),
    )
    yield from _say("running counts per key do not go 1, 2, 3", seen.filter(pl.col("n") != pl.col("expected")))
    yield from _compare(records, seen.select("id", "key"), ["id", "key"])
    ordered = seen.with_columns(origin=origin()).with_columns(before=pl.col("id").shift(1).over("key", "origin"))
    yield from _say("records of one key and split are out of order", ordered.filter(pl.col("id") <= pl.col("before")))


def _wrong_groups(records: pl.DataFrame, found: pl.DataFrame) -> Iterator[str]:
    seen = found.with_columns(
        code=pl.col("total") - pl.col("total").shift(1, fill_value=0).over("group"),
        expected=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("group"),
    )
    yield from _say("running counts per group do not go 1, 2, 3", seen.filter(pl.col("n") != pl.col("expected")))
    decoded = seen.select(key=pl.col("code") // CODE_OF_KEY, n=pl.col("code") % CODE_OF_KEY)
    decoded = decoded.with_columns(place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("key"))
    yield from _say("counts of a key reach its group out of order", decoded.filter(pl.col("n") != pl.col("place")))
    wanted = records.select("key", n=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("key"))
    yield from _compare(wanted, decoded.select("key", "n"), ["key", "n"])


def _compare(wanted: pl.DataFrame, found: pl.DataFrame, columns: list[str]) -> Iterator[str]:
    lost = wanted.join(found, on=columns, how="anti")
    strange = found.join(wanted, on=columns, how="anti")
    doubled = found.filter(pl.struct(columns).is_duplicated())
    yield from _say("lost", lost)
    yield from _say("doubled", doubled)
    yield from _say("never in the input", strange)


def _say(what: str, rows: pl.DataFrame) -> Iterator[str]:
    if rows.height:
        yield f"{what}: {rows.height} rows, first {rows.head(SHOWN).rows(named=True)}"
