"""The entry point of ``make chaos``. See command.py."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.chaos.command import main

    raise SystemExit(main())
