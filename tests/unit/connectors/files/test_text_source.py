from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.connectors.connector_harness import ReadAll, Reading, read_with_restarts

from weir.connectors import sources
from weir.connectors.files import line_reader
from weir.connectors.files.line_reader import LineRange
from weir.connectors.files.text_source import TextSource
from weir.errors import InputError
from weir.protocol.codec import from_json

LINES = st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12), max_size=40)


@settings(max_examples=150, deadline=None)
@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(1, 30), st.integers(1, 40), st.integers(1, 9))
def test_each_line_is_read_once_and_in_order_for_any_split_and_block_size(
    lines: list[str], line_end: str, last_has_end: bool, split_bytes: int, block_bytes: int, batch_rows: int
) -> None:
    data = line_end.join(lines) + (line_end if last_has_end and lines else "")
    expected = data.replace("\r\n", "\n").removesuffix("\n").split("\n") if data else []
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        path = Path(directory, "a.txt")
        path.write_bytes(data.encode())
        patch.setattr(line_reader.line_blocks, "__kwdefaults__", {"block_bytes": block_bytes})
        source = replace(sources.text(path, line_numbers=True), split_bytes=split_bytes)
        rows = [row for batch in Reading(source, source.splits(1), batch_rows=batch_rows).batches() for row in batch.to_pylist()]
    byte_order_mark = expected and expected[0].startswith("\ufeff")
    assert [row["line"] for row in rows] == ([expected[0][1:], *expected[1:]] if byte_order_mark else expected)
    assert [row["line_number"] for row in rows] == list(range(1, len(expected) + 1))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 8), max_size=4), st.integers(1, 7), st.integers(1, 60), st.booleans())
def test_reading_resumes_after_the_last_line_that_poll_returned(
    restart_after: list[int], batch_rows: int, split_bytes: int, line_numbers: bool
) -> None:
    with TemporaryDirectory() as directory:
        for name in "ab":
            Path(directory, name).write_text("".join(f"{name} line {i}\n" for i in range(30)))
        source = replace(sources.text(directory, line_numbers=line_numbers), split_bytes=split_bytes)
        table = read_with_restarts(source, restart_after, batch_rows=batch_rows)
    assert table["line"].to_pylist() == [f"{name} line {i}" for name in "ab" for i in range(30)]
    if line_numbers:
        assert table["line_number"].to_pylist() == [*range(1, 31)] * 2


def test_paths_are_expanded_to_all_files_that_are_not_hidden(tmp_path: Path, read_all: ReadAll) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.txt", "a.txt", "sub/c.txt", "_SUCCESS", ".crc"):
        (tmp_path / name).write_text(f"{name}\n")
    assert read_all(sources.text(tmp_path))["line"].to_pylist() == ["a.txt", "b.txt", "sub/c.txt"]
    assert read_all(sources.text(tmp_path / "*.txt"))["line"].to_pylist() == ["a.txt", "b.txt"]
    named = read_all(sources.text([tmp_path / "b.txt", tmp_path / "b.txt"], file_name=True))
    assert named.to_pylist() == [{"line": "b.txt", "file": str(tmp_path / "b.txt")}]


def test_a_source_makes_one_split_per_subtask_and_the_ids_of_splits_are_stable(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"0123456\n" * (1 << 19))
    splits = sources.text(path).splits(4)
    assert splits == sources.text(path).splits(4)
    assert len(splits) == 4 and len({split.id for split in splits}) == 4
    ranges = [from_json(LineRange, split.payload) for split in splits]
    assert [one.start for one in ranges[1:]] == [one.end for one in ranges[:-1]]
    assert (ranges[0].start, ranges[-1].end) == (0, 4 << 20)


def test_the_error_for_invalid_utf8_names_the_file_and_the_line_and_the_byte(tmp_path: Path, read_all: ReadAll) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"fine\n" * 1000 + b"caf\xe9\n" + b"fine\n" * 10)
    with pytest.raises(InputError, match=r"bad\.txt: line 1001 is not UTF-8 at byte 5003"):
        read_all(sources.text(path), batch_rows=100)


def test_a_line_end_inside_a_multibyte_character_is_refused(tmp_path: Path, read_all: ReadAll) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"\xc3\n\xa9\n")
    with pytest.raises(InputError, match=r"line 1 is not UTF-8 at byte 0"):
        read_all(sources.text(path))


def test_rows_before_an_invalid_line_are_emitted_before_poll_raises_the_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"1\n2\n\xff\n")
    source = sources.text(path)
    reading = Reading(source, source.splits(1), batch_rows=2)
    batches = reading.batches()
    assert next(batches).num_rows == 2
    for _ in range(2):
        with pytest.raises(InputError):
            next(reading.batches())
    reading.reader.close()


def test_the_error_for_a_missing_file_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing-file"):
        sources.text(tmp_path / "missing-file").splits(1)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("dat/a.txt", "Correct the path: {root} has no 'dat'; did you mean 'data'?"),
        ("data/b.txt", "Correct the path: {root}/data has no 'b.txt'; did you mean 'a.txt'?"),
        ("data/a.txt/x", "Correct the path: {root}/data/a.txt is a file, not a directory."),
        ("empty", "The directory contains no files. Write the input first, or correct the path."),
        (
            "hidden",
            "All files are skipped, because file or directory names begin with _ or a dot. Rename the files, or correct the path.",
        ),
        ("data/*.csv", "No file matches this pattern. Correct the pattern."),
        ("d*/none", "No file matches this pattern. Correct the pattern."),
    ],
)
def test_the_error_for_an_input_without_files_says_why_there_is_no_file(tmp_path: Path, path: str, reason: str) -> None:
    for directory in ("data", "empty", "hidden"):
        (tmp_path / directory).mkdir()
    (tmp_path / "data" / "a.txt").write_text("one")
    (tmp_path / "hidden" / "_a.txt").write_text("one")
    with pytest.raises(InputError) as error:
        sources.text(tmp_path / path).splits(1)
    assert str(error.value) == f"{tmp_path / path}: no input file found. {reason.format(root=tmp_path)}"


@pytest.mark.parametrize("path", ["secret", "secret/a.txt", "secret/*.txt", "secret/below/*", "*/a.txt"])
def test_the_error_for_an_input_without_permission_names_the_directory(unprivileged: None, path: str) -> None:
    with TemporaryDirectory() as root:
        secret = Path(root, "secret")
        secret.mkdir(mode=0)
        with pytest.raises(InputError) as error:
            sources.text(Path(root, path)).splits(1)
    assert f"Permission denied. Make {secret} readable for user id {os.geteuid()}" in str(error.value)


def test_the_error_for_a_file_that_shrinks_or_disappears_after_listing_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    source = sources.text(path)
    splits = source.splits(1)
    path.write_text("one\n")
    with pytest.raises(InputError, match=r"a\.txt: the file has changed since the job listed it: size 4 bytes instead of 8"):
        list(Reading(source, splits).batches())
    path.unlink()
    with pytest.raises(InputError, match=r"a\.txt: cannot open"):
        list(Reading(source, splits).batches())


def test_a_file_that_grows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    source = sources.text(path)
    splits = source.splits(1)
    path.write_text("one\ntwo\n")
    with pytest.raises(InputError, match=r"a\.txt: the file has changed since the job listed it: size 8 bytes instead of 4"):
        list(Reading(source, splits).batches())


def test_a_line_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_all: ReadAll) -> None:
    monkeypatch.setattr(line_reader, "LINE_BYTES_MAX", 1 << 20)
    monkeypatch.setattr(line_reader.line_blocks, "__kwdefaults__", {"block_bytes": 1 << 18})
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(3 << 20))
    with pytest.raises(InputError, match="longer than 1 MiB"):
        read_all(TextSource((str(path),)))


def test_a_path_that_is_not_a_regular_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/null", "/proc/self/status"):
        with pytest.raises(InputError, match="not a regular file"):
            sources.text(path).splits(1)


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    assert sources.text(tmp_path / "empty.txt").splits(1) == ()


def test_a_file_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_text("a\n")
    with pytest.raises(InputError, match=r"caf\\xe9.txt: the file name is not UTF-8.*Rename the file"):
        sources.text(tmp_path).splits(1)
