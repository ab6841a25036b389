"""What `make demo-runtime` runs: two jobs on real data, a worker killed in the middle of each, and the proof that nothing shows.

Exit code 0: the committed output equals what Spark SQL computes from the same input in one batch. 1: it does not, or
something failed. `--verify` compares what an earlier run (or `weir run`) has left, and runs no job.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import structlog

import flights
import wordcount
from class_archive import archive_in, jvm_options
from demo_input import NoInput
from demo_scenarios import DemoFailed, Scenario, prepare_inputs, scenarios, verify
from demo_telling import doing, say, shown
from demo_worker import slot_processes
from weir import Params
from weir.errors import WeirError
from weir.spark.launch import JobResult, RunningJob, RunOptions, launch, session_for
from weir.storage.inspection import list_checkpoints
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage

INTERVAL_MS = 500
CHECKPOINTS_BEFORE_KILL = 3
FOLLOW_S = 0.1
SAY_EVERY_S = 1.0
ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "demo", help="where input, output and checkpoints go")
    parser.add_argument("--verify", action="store_true", help="only compare the output that is there")
    arguments = parser.parse_args()
    root: Path = arguments.directory.resolve()
    # What is worth telling is told here, in other words.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        run(root, only_verify=arguments.verify)
    except (DemoFailed, NoInput, WeirError, OSError) as error:
        say(f"FAILED: {error}")
        return 1
    return 0


def run(root: Path, *, only_verify: bool) -> None:
    todo = scenarios(root)
    options = RunOptions(
        checkpoint_dir=str(root / "checkpoints"),
        interval_ms=INTERVAL_MS,
        by_value=[flights, wordcount],
        spark_conf={"spark.sql.shuffle.partitions": "4"},
    )
    missing = [str(scenario.output) for scenario in todo if not scenario.output.exists()]
    if only_verify and missing:
        raise DemoFailed(f"there is nothing to compare in {', '.join(missing)}: run the demo without --verify first")
    prepare_inputs(todo)
    prepare_java(ROOT / "build" / "java")
    session = session_for(options, "demo")
    try:
        with doing("starting Spark on this machine, with room for two slots"):
            spark = session.get()
        if not only_verify:
            shutil.rmtree(root / "checkpoints", ignore_errors=True)
            for scenario in todo:
                shutil.rmtree(scenario.output, ignore_errors=True)
                follow_and_kill(launch(scenario.job(Params(scenario.settings)), options, session=session), scenario)
        verify(spark, todo)
    finally:
        session.close()
    if not only_verify:
        say_what_is_next(root, todo[0])


def prepare_java(folder: Path) -> None:
    """For a JVM that lives for half a minute."""
    if archive_in(folder).exists():
        options = jvm_options(folder)
    else:
        with doing("laying out Spark's classes (only the first time)"):
            options = jvm_options(folder)
    os.environ.setdefault("SPARK_SUBMIT_OPTS", options)


def follow_and_kill(job: RunningJob, scenario: Scenario) -> JobResult:
    """Until the job has finished. After some checkpoints one of its workers is killed."""
    say(f"job {scenario.file}: {scenario.records} at {scenario.rate:,} a second, a checkpoint every {INTERVAL_MS} ms")
    killed: int | None = None
    recovered = False
    said_at = time.monotonic()
    while (result := job.wait(FOLLOW_S)) is None:
        now = job.progress()
        if killed is None and len(now.completed) >= CHECKPOINTS_BEFORE_KILL:
            killed = slot_processes()[0]
            os.kill(killed, signal.SIGKILL)
            say(f"  {now.records:,} {scenario.records}, checkpoint {now.completed[-1].checkpoint} is completed: kill -9 {killed}")
        elif now.recoveries and not recovered:
            recovered = True
            restored = now.recoveries[-1]
            say(f"  lost: {restored.reason}")
            say(f"  RECOVERED in {restored.took_ms} ms: all slots went back to the last checkpoint, Spark replaced the worker")
        elif time.monotonic() - said_at >= SAY_EVERY_S:
            said_at = time.monotonic()
            last = f"checkpoint {now.completed[-1].checkpoint} is completed" if now.completed else "no checkpoint yet"
            again = " since the recovery" if recovered else ""
            say(f"  {now.records:,} {scenario.records}{again}, {last}")
    result.raise_if_failed()
    if killed is None or not result.progress.recoveries:
        raise DemoFailed(f"{scenario.file} ended before it was disturbed: killed {killed}, nothing was recovered")
    say(f"  finished: {len(result.progress.completed)} checkpoints completed, recovered {len(result.progress.recoveries)} x")
    return result


def say_what_is_next(root: Path, scenario: Scenario) -> None:
    checkpoints = root / "checkpoints"
    kept = [
        info.checkpoint
        for info in list_checkpoints(open_storage(str(checkpoints)), JobLayout(scenario.name))
        if info.status != "retired"
    ]
    weir = shown(Path(sys.executable).with_name("weir"))
    settings = f"--set input={shown(scenario.input)} --set output={shown(scenario.output)}"
    say("done: no record lost or doubled, though a worker of each job was killed")
    print(f"""
  output       {shown(root / "output")}      (Parquet; any reader sees committed epochs only)
  checkpoints  {shown(checkpoints)} (JSON and Arrow, see docs/checkpoints.md)

Try next:
  {weir} graph {scenario.file} {settings}
  {weir} checkpoints {shown(checkpoints)} --job {scenario.name}
  {weir} checkpoints {shown(checkpoints)} verify --job {scenario.name}
  # go back to an older checkpoint: what was committed after it is taken back, and comes again
  {weir} run {scenario.file} {settings} --checkpoint-dir {shown(checkpoints)} --from {kept[0]} --yes
  # and compare once more
  {shown(Path(sys.executable))} examples/demo_runtime.py --verify{"" if root == ROOT / "build" / "demo" else f" --directory {shown(root)}"}""")


if __name__ == "__main__":
    sys.exit(main())
