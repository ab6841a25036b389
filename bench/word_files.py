"""Input of the wordcount workload: files of lines with Zipf-distributed words."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

WORDS_A_LINE = 10
VOCABULARY = 50_000
FILES = 2
"""The number of distinct files. All other files are hard links to the distinct files, so the input is large but fits
into the page cache."""


def write_word_files(directory: Path, *, seed: int, file_bytes: int, names: int) -> Path:
    """Create the word files, unless they exist. Return their directory. The same arguments always give the same text."""
    folder = directory / f"words-{seed}-{file_bytes}-{names}"
    if (folder / "complete").exists():
        return folder / "text"
    text = folder / "text"
    text.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        first = text / f"{number:04}.txt"
        first.write_bytes(_text(seed + number, file_bytes))
        for name in range(number + FILES, names, FILES):
            link = text / f"{name:04}.txt"
            link.unlink(missing_ok=True)
            os.link(first, link)
    (folder / "complete").touch()
    return text


def _text(seed: int, size: int) -> bytes:
    """Return a text of complete lines. The text has at most ``size`` bytes."""
    random = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, VOCABULARY + 1)
    vocabulary = np.array([_word(rank) for rank in range(VOCABULARY)])
    drawn = vocabulary[random.choice(VOCABULARY, size=size // 4, p=weights / weights.sum())]
    lines = [" ".join(line) for line in drawn[: len(drawn) // WORDS_A_LINE * WORDS_A_LINE].reshape(-1, WORDS_A_LINE).tolist()]
    text = "\n".join(lines).encode()[:size]
    return text[: text.rindex(b"\n") + 1]


def _word(rank: int) -> str:
    """Return the word with the given frequency rank. Frequent words are short, as in natural languages. All words are
    different."""
    letters = "etaoinshrdlucmfw"
    word = letters[rank % 16]
    while rank := rank // 16:
        word += letters[(rank - 1) % 16]
        rank -= 1
    return word
