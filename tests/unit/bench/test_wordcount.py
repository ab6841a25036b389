"""The generated text and the result check of the wordcount benchmark."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from bench import word_files as text
from bench.checkpoint_reader import CheckpointContents, SplitRead
from bench.word_files import WORDS_A_LINE, write_word_files
from bench.wordcount import COUNT, SOURCE, WordCount, count_words, words
from weir import sources
from weir.connectors.stats_sink import Totals

BYTES = 20_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_word_files(tmp_path, seed=3, file_bytes=BYTES, names=5)


def splits(folder: Path) -> list[SplitRead]:
    return [SplitRead(split, None) for split in sources.text(folder).splits(2)]


def test_the_same_seed_gives_the_same_files(folder: Path, tmp_path: Path) -> None:
    again = write_word_files(tmp_path / "again", seed=3, file_bytes=BYTES, names=5)
    files = sorted(folder.iterdir())

    assert len(files) == 5
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in sorted(again.iterdir())]
    assert files[0].read_bytes() == files[2].read_bytes() != files[1].read_bytes()
    assert {len(line.split(" ")) for line in files[0].read_text().splitlines()[:-1]} == {WORDS_A_LINE}


def test_each_rank_has_a_different_word() -> None:
    assert len({text._word(rank) for rank in range(text.VOCABULARY)}) == text.VOCABULARY


def test_words_with_a_lower_rank_number_are_more_frequent(folder: Path) -> None:
    counted = Counter((folder / "0000.txt").read_text().split())

    assert counted[text._word(0)] > 5 * counted[text._word(20)] > 0


def test_lines_are_split_into_words_in_order() -> None:
    lines = pa.record_batch({"line": ["a b", "b", "c a b"]})

    assert words(lines)["word"].to_pylist() == ["a", "b", "b", "c", "a", "b"]


def test_word_counts_of_complete_and_partial_files_are_correct(folder: Path) -> None:
    read = splits(folder)
    cut = len("".join((folder / "0001.txt").read_text().splitlines(keepends=True)[:7]))
    read[1] = replace(read[1], position=cut)
    expected: Counter[str] = Counter()
    for number, file in enumerate(sorted(folder.iterdir())):
        expected.update(file.read_text()[: cut if number == 1 else None].split())

    assert count_words(read) == expected


def contents(folder: Path) -> CheckpointContents:
    counted = count_words(splits(folder))
    state = pa.table({"word": list(counted), "count": list(counted.values())})
    totals = Totals(sum(counted.values()), {"count": sum(n for most in counted.values() for n in range(1, most + 1))})
    return CheckpointContents({SOURCE: tuple(splits(folder))}, {COUNT: state}, totals)


def test_the_check_accepts_correct_counts_and_detects_wrong_counts(folder: Path) -> None:
    right = contents(folder)
    workload = WordCount(folder)
    lost = replace(right.totals, rows=right.totals.rows - 1)
    doubled = right.states[COUNT].set_column(
        1, "count", pa.array([n + (i == 4) for i, n in enumerate(right.states[COUNT]["count"].to_pylist())])
    )

    assert workload.find_error(right, right.totals) is None
    assert "the sink has" in str(workload.find_error(right, lost))
    assert "1 words have a wrong count" in str(workload.find_error(replace(right, states={COUNT: doubled}), right.totals))


def test_a_file_with_several_splits_is_refused(folder: Path) -> None:
    split = splits(folder)[0]
    assert isinstance(split.split.payload, dict)
    half = replace(split, split=replace(split.split, payload=split.split.payload | {"end": 100}))

    with pytest.raises(SystemExit, match="Make smaller files"):
        count_words([half])
