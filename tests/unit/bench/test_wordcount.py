"""Text for wordcount, and the check of its result by plain counting."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from bench import words as text
from bench.evidence import Evidence, SplitRead
from bench.wordcount import COUNT, SOURCE, WordCount, count_words, words
from bench.words import WORDS_A_LINE, write_text
from weir import sources
from weir.connectors.stats import Totals

BYTES = 20_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_text(tmp_path, seed=3, file_bytes=BYTES, names=5)


def splits(folder: Path) -> list[SplitRead]:
    return [SplitRead(split, None) for split in sources.text(folder).splits(2)]


def test_the_same_seed_gives_the_same_text_under_as_many_names_as_asked(folder: Path, tmp_path: Path) -> None:
    again = write_text(tmp_path / "again", seed=3, file_bytes=BYTES, names=5)
    files = sorted(folder.iterdir())

    assert len(files) == 5
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in sorted(again.iterdir())]
    assert files[0].read_bytes() == files[2].read_bytes() != files[1].read_bytes()
    assert {len(line.split(" ")) for line in files[0].read_text().splitlines()[:-1]} == {WORDS_A_LINE}


def test_words_of_all_ranks_are_different() -> None:
    assert len({text._word(rank) for rank in range(text.VOCABULARY)}) == text.VOCABULARY


def test_frequent_words_come_more_often(folder: Path) -> None:
    counted = Counter((folder / "0000.txt").read_text().split())

    assert counted[text._word(0)] > 5 * counted[text._word(20)] > 0


def test_lines_become_words_in_their_order() -> None:
    lines = pa.record_batch({"line": ["a b", "b", "c a b"]})

    assert words(lines)["word"].to_pylist() == ["a", "b", "b", "c", "a", "b"]


def test_counting_agrees_with_python_over_whole_files_and_parts(folder: Path) -> None:
    read = splits(folder)
    cut = len("".join((folder / "0001.txt").read_text().splitlines(keepends=True)[:7]))
    read[1] = replace(read[1], position=cut)
    expected: Counter[str] = Counter()
    for number, file in enumerate(sorted(folder.iterdir())):
        expected.update(file.read_text()[: cut if number == 1 else None].split())

    assert count_words(read) == expected


def evidence(folder: Path) -> Evidence:
    counted = count_words(splits(folder))
    state = pa.table({"word": list(counted), "count": list(counted.values())})
    totals = Totals(sum(counted.values()), {"count": sum(n for most in counted.values() for n in range(1, most + 1))})
    return Evidence({SOURCE: tuple(splits(folder))}, {COUNT: state}, totals)


def test_a_right_count_passes_and_a_wrong_one_does_not(folder: Path) -> None:
    right = evidence(folder)
    workload = WordCount(folder)
    lost = replace(right.totals, rows=right.totals.rows - 1)
    doubled = right.states[COUNT].set_column(
        1, "count", pa.array([n + (i == 4) for i, n in enumerate(right.states[COUNT]["count"].to_pylist())])
    )

    assert workload.wrong(right, right.totals) is None
    assert "the sink has" in str(workload.wrong(right, lost))
    assert "1 words are counted wrong" in str(workload.wrong(replace(right, states={COUNT: doubled}), right.totals))


def test_files_that_were_cut_into_splits_are_refused(folder: Path) -> None:
    whole = splits(folder)[0]
    assert isinstance(whole.split.payload, dict)
    half = replace(whole, split=replace(whole.split, payload=whole.split.payload | {"end": 100}))

    with pytest.raises(SystemExit, match="make smaller files"):
        count_words([half])
