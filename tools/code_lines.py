"""Count the lines of product code of the current commit and of another commit.

Tests, generated files, docstrings, comments and blank lines do not count.

Usage: tools/code_lines.py [COMMIT]. Without COMMIT, only the current commit is counted.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("runtime", "backend", "workers", "frontend/src")
GENERATED = ("frontend/src/api/schema.ts", "frontend/src/api/fields.ts")
_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def python_lines(source: str) -> int:
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def typescript_lines(source: str) -> int:
    count, in_comment = 0, False
    for line in map(str.strip, source.splitlines()):
        if in_comment or line.startswith(("/*", "{/*")):
            in_comment = "*/" not in line
        elif line and not line.startswith("//"):
            count += 1
    return count


def count(commit: str, folder: str) -> int:
    """Return the lines of code below ``folder`` at ``commit``. Raises subprocess.CalledProcessError for an unknown commit."""
    total = 0
    for path in _git("ls-tree", "-r", "--name-only", commit, folder).splitlines():
        if path not in GENERATED and ".test." not in path and path.endswith((".py", ".ts", ".tsx")):
            source = _git("show", f"{commit}:{path}")
            total += python_lines(source) if path.endswith(".py") else typescript_lines(source)
    return total


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main(arguments: list[str]) -> None:
    commits = [*arguments[:1], "HEAD"]
    table = [(folder, [count(commit, folder) for commit in commits]) for folder in PRODUCT]
    for folder, counts in [*table, ("total", [sum(column) for column in zip(*(counts for _, counts in table), strict=True)])]:
        print(f"{folder:14}", *(f"{number:8,}" for number in counts), f"{counts[-1] - counts[0]:+8,}" if len(counts) > 1 else "")


if __name__ == "__main__":
    main(sys.argv[1:])
