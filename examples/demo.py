"""The platform, shown: `weir up`, two bounded jobs and a live one deployed to it, a worker of each bounded job killed and the output proved
equal to a batch computation; the live one taken back to an earlier checkpoint, and that undone.

Exit code 0: all of it holds, and the platform is left up with the live job running. 1: something does not, or failed. `--down` suspends
the live job and stops the platform.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from demo_input import NoInput
from demo_live import LIVE, Live
from demo_platform_jobs import Disturbed, Steady, follow
from demo_platform_rig import ROOT, Rig, Verification, bring_down, bring_up
from demo_scenarios import DemoFailed, Scenario, prepare_inputs, scenarios
from demo_telling import say, shown
from weir.errors import WeirError

INTERVAL = "500ms"
LIVE_CHECKPOINTS = 8
"""That many are completed before the live job is taken back, ``BACK`` of them."""
BACK = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--down", action="store_true", help="suspend the live job and stop the platform")
    arguments = parser.parse_args()
    try:
        bring_down(LIVE) if arguments.down else run()
    except (DemoFailed, NoInput, WeirError, OSError) as error:
        say(f"FAILED: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; `make down` stops what was started")
        return 130
    return 0


def run() -> None:
    with bring_up() as rig:
        root = rig.directory / "demo"
        root.mkdir(mode=0o700, exist_ok=True)
        bounded = scenarios(root)
        live = Live(root)
        prepare_inputs(bounded)
        live.prepare(bounded[0].input)
        for scenario in bounded:
            _deploy(rig, scenario)
        live.deploy(rig)
        follow(rig, [*(Disturbed(_name(one)) for one in bounded), Steady(LIVE, enough=LIVE_CHECKPOINTS)])
        with Verification(root) as verification:
            counted = _back_and_forth(rig, live)
            verification.finish()
        _tell(rig, root, counted)


def _name(scenario: Scenario) -> str:
    return f"demo-{scenario.name}"


def _deploy(rig: Rig, scenario: Scenario) -> None:
    """Anew: what an earlier demo has left of it is forgotten."""
    rig.forget(_name(scenario))
    shutil.rmtree(scenario.output, ignore_errors=True)
    settings = [part for name, value in scenario.settings.items() for part in ("--set", f"{name}={value}")]
    rig.weir("deploy", str(ROOT / scenario.file), "--name", _name(scenario), *settings, "--interval", INTERVAL)


def _back_and_forth(rig: Rig, live: Live) -> list[str]:
    """Rollback and undo of the live job, the running counts looked at after each. What is to be told of that."""
    job = rig.job(LIVE)
    completed = rig.restorable(job)
    if len(completed) <= BACK:
        raise DemoFailed(f"job '{LIVE}' has only {len(completed)} checkpoints to go back to")
    before = live.count()
    rig.weir("rollback", LIVE, "--to", str(completed[BACK]), "--yes", "--wait")
    back = live.count()
    rig.weir("undo", LIVE, "--yes", "--wait")
    after = live.count()
    rig.until_checkpoint(LIVE)
    later = live.count()
    if after < before:
        raise DemoFailed(f"the undo did not bring everything back: {before:,} running counts before, {after:,} after it")
    say(
        f"  EXACT: every route's running count of '{LIVE}' goes 1, 2, 3, ... without a gap and without a repetition, each time it was read"
    )
    return [f"{before:,} before", f"{back:,} after the rollback", f"{after:,} after the undo", f"{later:,} now"]


def _tell(rig: Rig, root: Path, counted: list[str]) -> None:
    weir = shown(Path(sys.executable).with_name("weir"))
    say("done: no record lost or doubled, through a kill of two workers, a rollback and an undo")
    at = f" --url {rig.url}"
    print(f"""
  open         {rig.url}   (the web interface: admin, with the password in {shown(rig.secrets_file)})
  log in       {weir} login{at} --name admin   (the command line)
  stop         make down   (until then the platform stays up, and so does job '{LIVE}')
  output       {shown(root / "output")}   (Parquet; any reader sees committed epochs only)
  '{LIVE}' showed its readers {", ".join(counted)}

Try next:
  {weir} jobs
  {weir} status {LIVE}
  {weir} events {LIVE} -f
  {weir} checkpoints {LIVE}
  {weir} rollback {LIVE} --to ID --dry-run
  kill -9 its driver, and see it come back: kill -9 {rig.driver(LIVE)}""")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
