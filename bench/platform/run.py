"""``make bench-platform``: measures the control plane over real HTTP, with full tables. The parts are reads, event ingest,
streams, all of these together, and table growth.

``make bench-platform ARGS=--quick`` takes a few minutes, uses small tables and detects large regressions.
``make bench-platform`` takes half an hour and uses tables with 1,000 jobs, 100,000 checkpoints and a million events.
``make bench-platform ARGS='--only ingest,growth'`` measures two parts.
``make bench-platform ARGS='--only month'`` measures a month of checkpoints of 100 jobs, with more than two million rows.

``bench-platform`` prints tables and appends one JSON object per measurement to build/bench/platform.jsonl. Exit code 1 means that
data was lost or counted twice, or that an answer was wrong. A missed performance target is reported but is not an error, because
a slow machine may be the cause.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Do not import from this directory: its module names clash with others.
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)
    from bench.platform.suite import main

    sys.exit(main(sys.argv[1:]))
