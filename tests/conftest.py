"""Test files are imported by path (``--import-mode=importlib``), so two directories can have a ``test_streams.py``.

With ``--import-mode=importlib``, Python does not find modules that the tests of a directory share, so this file adds the
directories of shared modules to ``sys.path``.
Names of shared modules are unique in ``tests/``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

# Examples of Hypothesis have no deadline, because their duration depends on the machine. For a failed example, Hypothesis
# prints a blob that replays the example.
settings.register_profile("weir", deadline=None, print_blob=True)
settings.load_profile("weir")

_SHARED = {
    path.parent
    for path in Path(__file__).parent.rglob("*.py")
    if not path.name.startswith("test_") and path.name not in ("conftest.py", "__init__.py")
}
sys.path.extend(str(folder) for folder in sorted(_SHARED))
