"""Chaos runs: real jobs on real Spark with random kills and pauses, and a check of their output. See command.py."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.chaos.command import main

    raise SystemExit(main())
