"""Sources that read files that are added to a directory: which files are complete, new, changed or removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.connectors.connector_harness import Reading
from tests.unit.connectors.files.test_changed_input import WRITERS

from weir import sources
from weir.connectors.base import Discovered, Source
from weir.connectors.files import file_listing
from weir.connectors.files.file_listing import UNFINISHED_SUFFIXES, InputFile, list_files
from weir.connectors.files.followed_files import FORGET_AFTER_DAYS, OLD_MS, FileSource, Follow, KnownFiles, find_new_files
from weir.errors import ConfigError, InputError, SchemaError
from weir.protocol import codec

SETTLE_MS, DAY_MS = 5_000, 86_400_000
NOW_MS = 1_700_000_000_000
NOTHING = KnownFiles({}, {}, {})
VALUES = pa.schema([("v", pa.int64())])


def file(name: str, *, size: int = 10, modified_ms: int = NOW_MS) -> InputFile:
    return InputFile(f"/in/{name}", size, modified_ms * 1_000_000)


class Directory:
    """A followed directory, with the state of the source between listings. ``known`` passes through JSON."""

    def __init__(self, *, settle_ms: int = SETTLE_MS) -> None:
        self.known = NOTHING
        self.settle_ms = settle_ms
        self.warnings: tuple[str, ...] = ()

    def list(self, *files: InputFile, at_ms: int = 0, check: Callable[[InputFile], None] = lambda file: None) -> list[str]:
        """Return the names of the new files in a listing ``at_ms`` after NOW_MS."""
        stored = codec.parse_json(codec.dump_json(self.known.to_json()), "known")
        known = KnownFiles.from_json(stored)
        assert known == self.known
        new, self.known, self.warnings = find_new_files(
            files,
            known,
            settle_ms=self.settle_ms,
            now_ms=NOW_MS + at_ms,
            may_forget=bool(files),
            check_complete=check,
        )
        return [os.path.basename(one.path) for one in new]


def test_a_file_is_read_once_its_size_and_modification_time_have_not_changed_for_a_while() -> None:
    directory = Directory()
    assert directory.list(file("a")) == []
    assert directory.list(file("a"), at_ms=4_000) == []
    assert directory.list(file("a", size=20), at_ms=6_000) == []
    assert directory.list(file("a", size=20), at_ms=10_999) == []
    assert directory.list(file("a", size=20, modified_ms=NOW_MS + 1), at_ms=11_000) == []
    assert directory.list(file("a", size=20, modified_ms=NOW_MS + 1), at_ms=16_000) == ["a"]
    assert directory.list(file("a", size=20, modified_ms=NOW_MS + 1), at_ms=30_000) == []
    assert directory.warnings == ()


def test_a_file_that_is_old_at_its_first_listing_is_read_at_once() -> None:
    directory = Directory()
    old, recent = file("old", modified_ms=NOW_MS - OLD_MS), file("recent", modified_ms=NOW_MS - OLD_MS + 1)
    assert directory.list(old, recent) == ["old"]
    assert directory.list(old, replace(recent, modified_ns=0), at_ms=100) == [], "the file has changed, so it can change again"
    assert Directory(settle_ms=0).list(recent) == ["recent"]


def test_a_clock_that_goes_back_delays_a_file_by_at_most_the_settle_time() -> None:
    directory = Directory()
    late = file("a", modified_ms=NOW_MS + DAY_MS)
    assert directory.list(late, at_ms=DAY_MS) == []
    assert directory.list(late) == []
    assert directory.list(late, at_ms=SETTLE_MS) == ["a"]


def test_an_empty_file_is_read_when_it_has_content() -> None:
    directory = Directory(settle_ms=0)
    assert directory.list(file("a", size=0)) == []
    assert directory.list(file("a", size=1)) == ["a"]


def test_a_file_that_changes_after_it_was_listed_is_reported_once_and_not_read_again() -> None:
    directory = Directory(settle_ms=0)
    files = [file(f"{number}") for number in range(6)]
    assert len(directory.list(*files)) == 6
    assert directory.list(files[0], *(replace(one, bytes=11) for one in files[1:])) == []
    (warning,) = directory.warnings
    assert "/in/1, /in/2, /in/3 and 2 more. The source reads each path once" in warning
    assert directory.list(files[0], *(replace(one, bytes=11) for one in files[1:])) == []
    assert directory.warnings == ()


def test_a_removed_file_is_forgotten_only_after_a_week() -> None:
    directory = Directory(settle_ms=0)
    a, b = file("a"), file("b")
    directory.list(a, b)
    assert directory.list(b, at_ms=1) == []
    assert directory.list(a, b, at_ms=FORGET_AFTER_DAYS * DAY_MS) == [], "the file reappears, for example after a mount"
    assert directory.list(b, at_ms=8 * DAY_MS) == []
    assert directory.list(b, at_ms=(8 + FORGET_AFTER_DAYS + 1) * DAY_MS) == []
    assert directory.known.removed == {}
    assert directory.list(a, b, at_ms=20 * DAY_MS) == ["a"]


def test_an_empty_listing_forgets_no_file_even_after_a_long_time() -> None:
    directory = Directory(settle_ms=0)
    a, b = file("a"), file("b")
    directory.list(a, b)
    directory.list(b, at_ms=1)
    for days in (1, 30, 60):
        assert directory.list(at_ms=days * DAY_MS) == []
    assert directory.list(a, b, at_ms=61 * DAY_MS) == []


def test_no_file_is_forgotten_while_one_of_the_paths_has_no_file(tmp_path: Path) -> None:
    for name in ("a/1", "a/2", "b/3"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    source = sources.text([tmp_path / "b", tmp_path / "a"], follow=True, settle="0s")
    known = source.discover(source.known_after(()), 1).known
    (tmp_path / "b" / "3").unlink()
    (tmp_path / "a" / "1").unlink()
    unmounted = KnownFiles.from_json(source.discover(known, 1).known)
    assert (len(unmounted.read), unmounted.removed) == (3, {})
    (tmp_path / "b" / "4").write_text("x\n")
    mounted = KnownFiles.from_json(source.discover(known, 1).known)
    assert (len(mounted.read), [len(files) for files in mounted.removed.values()]) == (2, [2])


def test_the_size_of_the_known_files_does_not_depend_on_the_length_of_paths() -> None:
    directory = Directory(settle_ms=0)
    directory.list(*(file(f"{'long' * 50}{number}") for number in range(1_000)))
    assert len(codec.dump_json(directory.known.to_json())) < 1_000 * 22


def test_an_incomplete_file_is_reported_once_and_read_when_it_is_complete() -> None:
    directory = Directory(settle_ms=0)

    def check(one: InputFile) -> None:
        if one.bytes < 20:
            raise InputError(f"{one.path}: no footer.")

    assert directory.list(file("a"), file("b", size=20), check=check) == ["b"], "another file is not affected"
    assert directory.warnings == ("/in/a: no footer. The source reads the file when it is complete.",)
    assert directory.list(file("a"), file("b", size=20), check=check) == []
    assert directory.warnings == ()
    assert directory.list(file("a", size=20), file("b", size=20), check=check) == ["a"]
    directory.list(*(file(f"{number}") for number in range(5)), check=check)
    assert len(directory.warnings) == 4 and directory.warnings[-1] == "2 more input files are not complete."


# ---- sources -----------------------------------------------------------------------------------


def followed(kind: str, path: Path, *, settle: str = "0s") -> Source:
    match kind:
        case "text":
            return sources.text(path, follow=True, settle=settle)
        case "json_lines":
            return sources.json_lines(path, VALUES, follow=True, settle=settle)
        case _:
            return sources.parquet(path, schema=VALUES, follow=True, settle=settle)


def values(source: Source, found: Discovered) -> list[int]:
    return sorted(int(value) for batch in Reading(source, found.splits).batches() for value in batch.column(0).to_pylist())


@pytest.mark.parametrize("kind", WRITERS)
def test_each_file_of_a_followed_directory_is_in_the_splits_of_one_discovery(kind: str, tmp_path: Path) -> None:
    source, write = followed(kind, tmp_path), WRITERS[kind]
    first = source.discover(source.known_after(()), 2)
    assert first.splits == ()
    write(tmp_path / "a", 1)
    write(tmp_path / "_hidden", 9)
    write(tmp_path / "b.tmp", 9)
    second = source.discover(first.known, 2)
    assert values(source, second) == [100 + row for row in range(40)]
    (tmp_path / "day=2".replace("=", "")).mkdir()
    write(tmp_path / "day2" / "c", 2)
    os.rename(tmp_path / "b.tmp", tmp_path / "b")
    third = source.discover(second.known, 2)
    assert values(source, third) == [version * 100 + row for version in (2, 9) for row in range(40)]
    assert source.discover(third.known, 2) == Discovered((), third.known)
    assert not {split.id for split in second.splits} & {split.id for split in third.splits}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_source_that_begins_to_follow_knows_the_files_in_its_splits(kind: str, tmp_path: Path) -> None:
    for number in range(300):
        WRITERS[kind](tmp_path / f"{number}", 1)
    source = followed(kind, tmp_path)
    assert isinstance(source, FileSource)
    bounded = replace(source, follow=None, split_bytes=500)  # type: ignore[type-var]  # all file sources are dataclasses
    splits = bounded.splits(1)
    known = source.known_after(splits)
    WRITERS[kind](tmp_path / "new", 2)
    (split,) = source.discover(known, 1).splits
    assert str(tmp_path / "new") in split.id
    assert source.discover(known, 1).warnings == ()
    old_splits = [replace(one, payload={"file": str(tmp_path / "old"), "start": 0, "end": 1, "size": 1}) for one in splits[:1]]
    WRITERS[kind](tmp_path / "old", 1)
    found = source.discover(source.known_after([*splits, *old_splits]), 1)
    assert (len(found.splits), found.warnings) == (1, ()), "a file whose modification time is unknown has not changed"


def test_a_parquet_file_without_a_footer_does_not_delay_other_files(tmp_path: Path) -> None:
    source = followed("parquet", tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 unfinished")
    WRITERS["parquet"](tmp_path / "b.parquet", 1)
    found = source.discover(source.known_after(()), 1)
    assert len(found.splits) == 1
    (warning,) = found.warnings
    assert "a.parquet: cannot read the file as Parquet" in warning and "when it is complete" in warning
    WRITERS["parquet"](tmp_path / "a.parquet", 2)
    assert values(source, source.discover(found.known, 1))[0] == 200


def test_the_schema_of_a_followed_parquet_source_is_given_or_is_that_of_a_complete_file(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no complete Parquet file yet. Pass the schema"):
        sources.parquet(tmp_path, follow=True).schema()
    (tmp_path / "a.parquet").write_bytes(b"unfinished")
    pq.write_table(pa.table({"v": [1], "w": ["x"]}), tmp_path / "b.parquet")
    assert sources.parquet(tmp_path, follow=True).schema().names == ["v", "w"]
    assert sources.parquet(tmp_path / "none", schema=VALUES.append(pa.field("w", pa.string())), columns=["w"]).schema().names == [
        "w"
    ]
    with pytest.raises(SchemaError, match="no column 'vv' in the schema"):
        sources.parquet(tmp_path, schema=VALUES, columns=["vv"])


def test_a_missing_or_unreadable_directory_is_an_error_of_the_discovery(tmp_path: Path) -> None:
    source = followed("text", tmp_path / "in")
    known = source.known_after(())
    with pytest.raises(InputError, match="no input file found. Correct the path"):
        source.discover(known, 1)
    (tmp_path / "in").mkdir()
    assert source.discover(known, 1).splits == ()
    assert followed("text", tmp_path / "*.txt").discover(known, 1).splits == ()


def test_a_file_that_is_removed_during_the_listing_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        (tmp_path / name).write_text("x")
    walk = file_listing._walk

    def walk_and_remove(directory: str) -> list[str]:
        found = walk(directory)
        (tmp_path / "a").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(file_listing, "_walk", walk_and_remove)
    assert [one.path for one in list_files((str(tmp_path),), following=True)] == [str(tmp_path / "b")]
    (tmp_path / "a").write_text("x")
    with pytest.raises(InputError, match="a: cannot list the input: No such file"):
        list_files((str(tmp_path),))


@pytest.mark.parametrize("suffix", UNFINISHED_SUFFIXES)
def test_names_of_unfinished_files_are_skipped_except_if_the_path_names_the_file(suffix: str, tmp_path: Path) -> None:
    named = tmp_path / f"a{suffix.upper()}"
    named.write_text("x")
    paths = (str(tmp_path), str(tmp_path / "*"))
    assert list_files(paths, following=True) == ()
    assert [one.path for one in list_files((str(named),), following=True)] == [str(named)]
    assert [one.path for one in list_files(paths)] == [str(named)]


def test_the_settings_of_a_followed_source_are_durations() -> None:
    assert sources.text("/a", follow=True).follow == Follow(5_000, 5_000)
    assert sources.text("/a", follow=True, discover_every="1m", settle="0s").follow == Follow(60_000, 0)
    assert sources.text("/a").discover_every_ms is None
    for options, message in (
        ({"settle": "1s"}, "sources.text: settle needs follow=True"),
        ({"follow": True, "settle": 5}, "sources.text: settle must be a duration such as '5s', not 5"),
        ({"follow": True, "discover_every": "0s"}, "sources.text: discover_every '0s' is out of range"),
        ({"follow": True, "settle": "5"}, "sources.text: settle '5' is not a duration"),
    ):
        with pytest.raises(ConfigError, match=message):
            sources.text("/a", **options)  # type: ignore[arg-type]  # refused at run time, too
