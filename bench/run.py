"""``make bench``: throughput, cost of checkpoints, latency and start-up, through the public job API and real slots on Spark.

    make bench ARGS=--quick      two to four minutes, to see whether something has become slow
    make bench                   three quarters of an hour: seven pairs of twenty seconds, what is quoted anywhere

Prints a table and appends one JSON object a measurement to build/bench/results.jsonl. Exit code 1: a result was wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from bench.suite import main

    sys.exit(main(sys.argv[1:]))
