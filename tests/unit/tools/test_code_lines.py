"""tools/code_lines.py."""

from __future__ import annotations

import code_lines


def test_docstrings_and_comments_and_blank_lines_of_python_are_not_counted() -> None:
    source = '"""Module."""\n\n# why\nimport os\n\n\ndef f() -> str:\n    """What it does.\n\n    More."""\n    return """two\nlines"""\n'
    assert code_lines.python_lines(source) == 4


def test_comments_and_blank_lines_of_typescript_are_not_counted() -> None:
    source = "/** Doc.\n * More.\n */\n\nexport const a = 1; // why\n// why\n{/* note */}\nconst b = 2;\n"
    assert code_lines.typescript_lines(source) == 2
