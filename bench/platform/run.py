"""``make bench-platform``: the control plane with full tables, over real HTTP: reading, ingest of events, streams, all at once, growth.

    make bench-platform ARGS=--quick         a few minutes on small tables, to see whether something has become slow
    make bench-platform                      half an hour: 1,000 jobs, 100,000 checkpoints, a million events
    make bench-platform ARGS='--only ingest,growth'

Prints tables and appends one JSON object a measurement to build/bench/platform.jsonl. Exit code 1: something was lost, counted twice or
answered wrongly. That an aim was missed is told, and is no error: it may be the machine's.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # This folder is no place to import from: its names are those of others, too.
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)
    from bench.platform.suite import main

    sys.exit(main(sys.argv[1:]))
