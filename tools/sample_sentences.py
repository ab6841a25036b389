"""Draw sentences of one area at random, for a reader who did not write them.

Usage: ``.venv/bin/python tools/sample_sentences.py ui [--seed 7] [--count 40]``.

The program prints the seed with which it draws the same sentences again. At most two of 40 sentences may need a second reading
(CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AREAS = {
    "kernel": [
        "runtime/weir/errors.py",
        *(f"runtime/weir/{name}" for name in ("kernel", "coordinator", "graph", "protocol", "testing")),
    ],
    "dataplane": [f"runtime/weir/{name}" for name in ("connectors", "operators", "state", "api")],
    "process": [f"runtime/weir/{name}" for name in ("storage", "subtask", "transport", "link", "spark")],
    "cli": ["runtime/weir/cli", "examples", "tools", "Makefile"],
    "backend": ["backend", "migrations"],
    "workers": ["workers"],
    "ui": ["frontend/src", "frontend/README.md"],
    "docs": ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"],
    "tests": ["tests", "bench"],
}
GENERATED = ("frontend/src/api/schema.ts", "frontend/src/api/fields.ts", "docs/protocol/", "docs/renames.md")
WORDS_MIN = 5
_DIRECTIVE = re.compile(r"#!|# (noqa|type|mypy|fmt|ruff|pragma)\b")
_CODE = re.compile(r"[;=]|\b(const|return|function)\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'])")
_TEXT_IN_TYPESCRIPT = re.compile(
    r"/\*\*?(?P<block>.*?)\*/|(?<![:'\"])//(?P<line>[^\n]*(?:\n[ \t]*//[^\n]*)*)|'(?P<single>(?:[^'\\\n]|\\.)*)'"
    r"|`(?P<template>[^`]*)`|>(?P<markup>[^<>{}]+)<",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    where: str
    text: str


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw sentences of one area at random.")
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("--count", type=int, default=40, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="draw the same sentences again")
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    sentences = [sentence for path in files_of(arguments.area) for sentence in sentences_of(path)]
    chosen = random.Random(seed).sample(sentences, min(arguments.count, len(sentences)))
    print(f"area {arguments.area}: {len(chosen)} of {len(sentences)} sentences, seed {seed}")
    for number, sentence in enumerate(chosen, start=1):
        print(f"{number:3}. {sentence.text}\n     {sentence.where}")
    return 0


def files_of(area: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "--", *AREAS[area]], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in sorted(listed.splitlines()) if not name.startswith(GENERATED)]


def sentences_of(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of docstrings, comments, messages and prose; code and short labels are left out."""
    readers = {".py": _python, ".md": _markdown, ".ts": _typescript, ".tsx": _typescript}
    reader = readers.get(path.suffix, _comments if path.name == "Makefile" else None)
    if reader is None:
        return
    for line, text in reader(path.read_text()):
        for part in _SENTENCE.split(" ".join(text.split())):
            if len(re.findall(r"[A-Za-z]{2,}", part)) >= WORDS_MIN:
                yield Sentence(f"{path.relative_to(ROOT)}:{line}", part)


def _python(source: str) -> Iterator[tuple[int, str]]:
    yield from _python_comments(source)
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.JoinedStr):  # an f-string is one sentence, so do not yield its parts
            yield node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "<...>" for part in node.values)
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " ")
        pending.extend(ast.iter_child_nodes(node))


def _python_comments(source: str) -> Iterator[tuple[int, str]]:
    """Join the lines of a comment: a sentence can continue on the next line."""
    above: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or _DIRECTIVE.match(token.string):
            continue
        if above and (token.start[0] - 1, token.start[1]) != above[-1].start:
            yield above[0].start[0], " ".join(line.string.lstrip("# ") for line in above)
            above = []
        above.append(token)
    if above:
        yield above[0].start[0], " ".join(line.string.lstrip("# ") for line in above)


def _markdown(source: str) -> Iterator[tuple[int, str]]:
    line = 1
    for block in re.split(
        r"\n(?=\n|[-|*#\d])", re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), source, flags=re.DOTALL)
    ):
        yield line, block
        line += block.count("\n") + 1


def _typescript(source: str) -> Iterator[tuple[int, str]]:
    for found in _TEXT_IN_TYPESCRIPT.finditer(source):
        text = next(part for part in found.groups() if part is not None)
        if found["markup"] is not None and _CODE.search(text):
            continue  # the match is code between two generic types or arrow functions, not text between two tags
        yield source.count("\n", 0, found.start()) + 1, re.sub(r"^\s*(\*|//)", "", text, flags=re.MULTILINE)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for number, text in enumerate(source.splitlines(), start=1):
        if "#" in text:
            yield number, text.split("#", 1)[1].lstrip("# ")


if __name__ == "__main__":
    sys.exit(main())
