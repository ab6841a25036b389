"""Chaos runs of a whole platform: kills servers and drivers at random while a job is deployed, rolled back and undone.

See command.py.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.chaos_platform.command import main

    raise SystemExit(main())
