"""``make bench-ui``: the web interface in a real Chromium: how soon the first page is usable, and whether a job of 200 operators x 8 subtasks
that tells something new ten times a second stays smooth.

    make bench-ui                            ten minutes: seven visits, three rounds of twenty seconds a tab, over an invented and a real backend
    make bench-ui ARGS=--quick               three minutes
    make bench-ui ARGS='--only invented --rounds 5'
    make bench-ui ARGS='--only real --trace'    traces for the browser's own tools, beside the results

Prints tables and appends one JSON object a measurement to build/bench/ui.jsonl. Exit code 1: a budget was missed, or something was wrong.
Long tasks are the browser's own measure of wall time: on a machine that does something else they are longer than they would be, so what
counts is what most rounds say. Over the real backend, whose Postgres and API have the same cores, it is how long a task needs the processor;
both are printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # This folder is no place to import from: its names are those of others, too.
    root = Path(__file__).resolve().parent.parent.parent
    sys.path[:1] = [str(root), str(root / "tools")]
    from bench.ui.suite import main

    sys.exit(main(sys.argv[1:]))
