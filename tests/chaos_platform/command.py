"""``make chaos-platform RUNS=50``: one platform, one job after another, and a ``kill -9`` of one of its processes every few
seconds.

Each run prints its seed, which determines what is killed and when. The effect also depends on the machine, so a failing seed need
not fail again. Exit code 1 if anything was lost, duplicated, stuck or wrong.
"""

from __future__ import annotations

import argparse
import random
import secrets
import time
from collections import Counter
from pathlib import Path

from tests.chaos_platform.kills import Striker
from tests.chaos_platform.life import live
from tests.chaos_platform.retrying_client import PatientApi
from tests.chaos_platform.verdict import judge
from tests.integration.platform.test_embedded import somewhere


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, help="seed of the first run; the others count up")
    parser.add_argument("--every", type=float, default=5.0, help="average seconds between two kills")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else secrets.randbelow(1 << 30)
    struck: Counter[str] = Counter()
    failed = 0
    with somewhere() as platform:
        said = platform.weir("up")
        if said.code != 0:
            print(said.err)
            return 1
        api = PatientApi(lambda: platform.state.url, "admin", platform.secrets.admin_password)
        for seed in range(first, first + options.runs):
            began = time.monotonic()
            root = Path(platform.root) / "chaos" / str(seed)
            striker = Striker(platform, random.Random(seed), every_s=options.every)
            problems = []
            try:
                with striker:
                    job_id = live(api, platform, root, name=f"chaos-{seed}")
                problems = judge(platform, api, job_id, root) + striker.problems
            except AssertionError as error:
                problems = [str(error)[:2_000], *striker.problems]
            struck.update(striker.struck)
            failed += bool(problems)
            shown = ", ".join(f"{count} x {name}" for name, count in sorted(Counter(striker.struck).items())) or "nothing"
            verdict = "FAILED" if problems else "ok"
            print(
                f"run {seed - first + 1} seed {seed}: struck {shown} | {time.monotonic() - began:.1f} s | {verdict}", flush=True
            )
            for problem in problems:
                print(f"    {problem}", flush=True)
    for name, count in sorted(struck.items()):
        print(f"{count:6} x {name}")
    print(f"{options.runs - failed} passed, {failed} failed")
    return 1 if failed else 0
