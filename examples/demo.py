"""Demo of the platform.

The demo starts a platform, and deploys two bounded jobs and a live job. The demo kills a slot of each bounded job, and compares
the output of the bounded jobs with a batch computation. Finally, the demo rolls back the live job, and undoes the rollback.

Exit code 0 means success. After a success, the platform and the live job stay running. Exit code 1 means that a step or a check
failed. `--down` suspends the live job and stops the platform.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from demo_console import say, shell_path
from demo_input import NoInput
from demo_live import LIVE, Live
from demo_platform import ROOT, BatchComparison, DemoPlatform, start_platform, stop_platform
from demo_platform_jobs import BoundedJob, LiveJob, watch
from demo_scenarios import DemoFailed, DemoScenario, prepare_inputs, scenarios
from weir.errors import WeirError

INTERVAL = "500ms"
LIVE_CHECKPOINTS = 8
"""The number of checkpoints that the live job completes before its rollback."""
BACK = 5
"""The number of completed checkpoints that are newer than the restored checkpoint of the rollback."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--down", action="store_true", help="suspend the live job and stop the platform")
    arguments = parser.parse_args()
    try:
        stop_platform(LIVE) if arguments.down else run()
    except (DemoFailed, NoInput, WeirError, OSError) as error:
        say(f"FAILED: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; `make down` stops the platform")
        return 130
    return 0


def run() -> None:
    with start_platform() as platform:
        root = platform.directory / "demo"
        root.mkdir(mode=0o700, exist_ok=True)
        bounded = scenarios(root)
        live = Live(root)
        prepare_inputs(bounded)
        live.prepare(bounded[0].input)
        for scenario in bounded:
            _deploy(platform, scenario)
        live.deploy(platform)
        watch(platform, [*(BoundedJob(_name(one)) for one in bounded), LiveJob(LIVE, enough=LIVE_CHECKPOINTS)])
        with BatchComparison(root) as verification:
            counts = roll_back_and_undo(platform, live)
            verification.finish()
        _print_summary(platform, root, counts)


def _name(scenario: DemoScenario) -> str:
    return f"demo-{scenario.name}"


def _deploy(platform: DemoPlatform, scenario: DemoScenario) -> None:
    """Deploy the job of ``scenario``, after deleting the job and the output of an earlier demo."""
    platform.delete(_name(scenario))
    shutil.rmtree(scenario.output, ignore_errors=True)
    settings = [part for name, value in scenario.settings.items() for part in ("--set", f"{name}={value}")]
    platform.weir("deploy", str(ROOT / scenario.file), "--name", _name(scenario), *settings, "--interval", INTERVAL)


def roll_back_and_undo(platform: DemoPlatform, live: Live, to: int | None = None) -> list[str]:
    """Roll back the live job, and undo the rollback.

    Returns four texts with the number of output rows: before the rollback, after the rollback, after the undo, and after the next
    checkpoint.

    ``to`` is the checkpoint to restore. If ``to`` is None, restore the checkpoint that is ``BACK`` checkpoints before the newest.
    """
    completed = platform.restorable(platform.job(LIVE))
    if len(completed) <= BACK:
        raise DemoFailed(f"Job '{LIVE}' has only {len(completed)} restorable checkpoints.")
    before = live.count()
    platform.weir("rollback", LIVE, "--to", str(completed[BACK] if to is None else to), "--yes", "--wait")
    back = live.count()
    platform.weir("undo", LIVE, "--yes", "--wait")
    after = live.count()
    platform.wait_for_checkpoint(LIVE)
    later = live.count()
    if after < before:
        raise DemoFailed(f"The undo did not reinstate all output: {before:,} output rows before, {after:,} after.")
    say(f"  EXACT: at each step, the running counts of every route of '{LIVE}' are 1, 2, 3, ... without a gap or a duplicate")
    return [f"{before:,} before", f"{back:,} after the rollback", f"{after:,} after the undo", f"{later:,} now"]


def _print_summary(platform: DemoPlatform, root: Path, counts: list[str]) -> None:
    weir = shell_path(Path(sys.executable).with_name("weir"))
    say("done: no record lost or duplicated after two killed slots, a rollback and an undo")
    at = f" --url {platform.url}"
    print(f"""
  open         {platform.url}   (the web UI: admin, with the password in {shell_path(platform.secrets_file)})
  log in       {weir} login{at} --name admin   (the command line)
  stop         make down   (until then the platform and job '{LIVE}' keep running)
  output       {shell_path(root / "output")}   (Parquet; readers see committed records only)
  readers of '{LIVE}' saw {", ".join(counts)}

Try next:
  {weir} jobs
  {weir} status {LIVE}
  {weir} events {LIVE} -f
  {weir} checkpoints {LIVE}
  {weir} rollback {LIVE} --to ID --dry-run
  kill its driver, which Weir restarts: kill -9 {platform.driver(LIVE)}""")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
