"""``make bench-ui``: measures the web UI in a real Chromium. The benchmark measures how soon the first page is usable. The benchmark
also measures whether the pages of a job with 200 operators of 8 subtasks stay responsive while ten updates arrive per second.

``make bench-ui`` takes ten minutes. The benchmark loads the first page seven times. The benchmark measures each tab in three
rounds of 20 s, with a simulated and a real backend. ``make bench-ui ARGS=--quick`` takes three minutes.
``make bench-ui ARGS='--only simulated --rounds 5'`` measures only the simulated backend, in five rounds.
``make bench-ui ARGS='--only real --trace'`` measures only the real backend, and keeps traces for the browser's performance panel.

``bench-ui`` prints tables and appends one JSON object per measurement to build/bench/ui.jsonl. Exit code 1 means that a target
was missed, or a page had errors. The browser measures long tasks in wall time, so other load on the machine makes the tasks
longer. Other load can make a single round miss a target. A target therefore counts as met if most rounds meet the target. The real
backend (Postgres and the API) shares its cores with the browser. The target for the real backend therefore limits the CPU time of
each task, not its wall time. Both times are printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Do not import from this directory: its modules, such as ``trace``, would hide other modules of the same name.
    root = Path(__file__).resolve().parent.parent.parent
    sys.path[:1] = [str(root), str(root / "tools")]
    from bench.ui.suite import main

    sys.exit(main(sys.argv[1:]))
