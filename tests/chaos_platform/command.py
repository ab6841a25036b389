"""``make chaos-platform RUNS=50``: runs one job after another on the same platform, and kills a driver or a process of the platform
every few seconds.

Each run prints its seed, which determines the killed processes and the times of the kills. The speed of the machine can change
the outcome, so a seed that failed does not necessarily fail again. Exit code 1 means that a job lost or duplicated data, did not
finish, or violated an invariant.
"""

from __future__ import annotations

import argparse
import random
import secrets
import time
from collections import Counter
from pathlib import Path

from tests.chaos_platform.invariants import find_violations
from tests.chaos_platform.job_scenario import run_scenario
from tests.chaos_platform.process_killer import ProcessKiller
from tests.chaos_platform.retrying_client import RetryingClient
from tests.integration.platform.test_embedded import temporary_platform


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, help="seed of the first run; the seed of each further run is higher by one")
    parser.add_argument("--every", type=float, default=5.0, help="average number of seconds between two kills")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else secrets.randbelow(1 << 30)
    killed: Counter[str] = Counter()
    failed = 0
    with temporary_platform() as platform:
        up = platform.weir("up")
        if up.code != 0:
            print(up.err)
            return 1
        client = RetryingClient(lambda: platform.state.url, "admin", platform.secrets.admin_password)
        for seed in range(first, first + options.runs):
            started_s = time.monotonic()
            root = Path(platform.root) / "chaos" / str(seed)
            killer = ProcessKiller(platform, random.Random(seed), every_s=options.every)
            problems = []
            try:
                with killer:
                    job_id = run_scenario(client, platform, root, name=f"chaos-{seed}")
                problems = find_violations(platform, client, job_id, root) + killer.problems
            except AssertionError as error:
                problems = [str(error)[:2_000], *killer.problems]
            killed.update(killer.killed)
            failed += bool(problems)
            kills = ", ".join(f"{count} x {name}" for name, count in sorted(Counter(killer.killed).items())) or "nothing"
            result = "FAILED" if problems else "ok"
            print(
                f"run {seed - first + 1} seed {seed}: killed {kills} | {time.monotonic() - started_s:.1f} s | {result}",
                flush=True,
            )
            for problem in problems:
                print(f"    {problem}", flush=True)
    for name, count in sorted(killed.items()):
        print(f"{count:6} x {name}")
    print(f"{options.runs - failed} passed, {failed} failed")
    return 1 if failed else 0
