"""``make bench``: throughput, cost of checkpoints, latency and start-up, through the public job API and real slots on Spark.

``make bench ARGS=--quick`` takes two to four minutes and detects large regressions. ``make bench`` takes about 45 minutes and
produces the published numbers. ``make bench`` executes seven pairs of runs and measures each run for 20 s.

A pair consists of a run without checkpoints and a run with checkpoints. The two runs take turns of one second.

Prints a table and appends one JSON object per measurement to build/bench/results.jsonl. Exit code 1 means that a result was
wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from bench.suite import main

    sys.exit(main(sys.argv[1:]))
