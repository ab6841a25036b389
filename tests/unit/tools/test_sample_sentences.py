"""Collecting the sentences of code and documents."""

from __future__ import annotations

from pathlib import Path

import pytest

import sample_sentences


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sample_sentences, "ROOT", tmp_path)
    return tmp_path


def texts(path: Path) -> set[str]:
    return {sentence.text for sentence in sample_sentences.sentences_of(path)}


def test_docstrings_and_comments_and_messages_and_test_names_of_python_files_count_as_sentences(root: Path) -> None:
    path = root / "module.py"
    path.write_text(
        '"""Reads the log from its newest entry. The owner of the log trims it afterwards."""\n'
        "# Slow disks need more than one attempt\n"
        "# here, because they time out.\n"
        "x = 1  # noqa: E501 a rule that the next line breaks\n"
        "def test_a_late_barrier_unblocks_its_channel():\n"
        "    raise ValueError(f'cannot read the entry {number} of this log')\n"
    )
    assert texts(path) == {
        "Reads the log from its newest entry.",
        "The owner of the log trims it afterwards.",
        "Slow disks need more than one attempt here, because they time out.",
        "a late barrier unblocks its channel",
        "cannot read the entry <...> of this log",
    }


def test_the_sentences_of_a_document_come_from_paragraphs_and_not_from_code_blocks(root: Path) -> None:
    path = root / "page.md"
    path.write_text("# Jobs\n\nA job is a function that builds a graph.\n\n```\nweir run this and that and more\n```\n")
    assert texts(path) == {"A job is a function that builds a graph."}


def test_comments_and_labels_of_typescript_count_as_sentences(root: Path) -> None:
    path = root / "Page.tsx"
    path.write_text(
        "/** Shows the newest checkpoints of one job. */\n"
        "// The server sorts the rows,\n"
        "// newest first.\n"
        "const text = 'No checkpoint has completed so far';\n"
        "const first = useQuery<Row>; const second = state as unknown as List<Row>;\n"
    )
    assert texts(path) == {
        "Shows the newest checkpoints of one job.",
        "The server sorts the rows, newest first.",
        "No checkpoint has completed so far",
    }
