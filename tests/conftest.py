"""Test files are imported by path (``--import-mode=importlib``), so that two folders may have a ``test_streams.py``.

That mode does not find the modules that tests of a folder share, so those folders are put on the path here. Names of shared
modules are unique across ``tests/``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

# How long an example takes says something about the machine, not about the code; what replays a failure is printed.
settings.register_profile("weir", deadline=None, print_blob=True)
settings.load_profile("weir")

_SHARED = {
    path.parent
    for path in Path(__file__).parent.rglob("*.py")
    if not path.name.startswith("test_") and path.name not in ("conftest.py", "__init__.py")
}
sys.path.extend(str(folder) for folder in sorted(_SHARED))
