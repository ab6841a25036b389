"""Demo of the runtime: run two jobs on real data, kill a slot of each, and compare their output with a batch computation.

Exit code 0 means that the committed output equals the result of Spark SQL over the same input. Exit code 1 means a difference or
a failure.
`--verify` runs no job and compares the output of an earlier run.
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
from demo_console import say, shell_path, step
from demo_input import NoInput
from demo_scenarios import DemoFailed, DemoScenario, prepare_inputs, scenarios, verify
from demo_slots import slot_processes
from weir import Params
from weir.errors import WeirError
from weir.spark.launch import JobResult, RunningJob, RunOptions, launch, session_for
from weir.storage.inspection import list_checkpoints
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage

INTERVAL_MS = 500
CHECKPOINTS_BEFORE_KILL = 3
POLL_S = 0.1
PRINT_EVERY_S = 1.0
ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--directory", type=Path, default=ROOT / "build" / "demo", help="directory for input, output and checkpoints"
    )
    parser.add_argument("--verify", action="store_true", help="only compare existing output")
    arguments = parser.parse_args()
    root: Path = arguments.directory.resolve()
    # Log only errors, because the demo prints its own progress messages.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        run(root, only_verify=arguments.verify)
    except (DemoFailed, NoInput, WeirError, OSError) as error:
        say(f"FAILED: {error}")
        return 1
    return 0


def run(root: Path, *, only_verify: bool) -> None:
    selected = scenarios(root)
    options = RunOptions(
        checkpoint_dir=str(root / "checkpoints"),
        interval_ms=INTERVAL_MS,
        by_value=[flights, wordcount],
        spark_conf={"spark.sql.shuffle.partitions": "4"},
    )
    missing = [str(scenario.output) for scenario in selected if not scenario.output.exists()]
    if only_verify and missing:
        raise DemoFailed(f"Nothing to compare in {', '.join(missing)}. Run the demo without --verify first.")
    prepare_inputs(selected)
    prepare_java(ROOT / "build" / "java")
    session = session_for(options, "demo")
    try:
        with step("starting Spark with two slots"):
            spark = session.get()
        if not only_verify:
            shutil.rmtree(root / "checkpoints", ignore_errors=True)
            for scenario in selected:
                shutil.rmtree(scenario.output, ignore_errors=True)
                run_and_kill_slot(launch(scenario.job(Params(scenario.settings)), options, session=session), scenario)
        verify(spark, selected)
    finally:
        session.close()
    if not only_verify:
        print_next_steps(root, selected[0])


def prepare_java(folder: Path) -> None:
    """Set the JVM options of Spark for a JVM that runs for only half a minute."""
    if archive_in(folder).exists():
        options = jvm_options(folder)
    else:
        with step("creating an archive of Spark's classes (only the first time)"):
            options = jvm_options(folder)
    os.environ.setdefault("SPARK_SUBMIT_OPTS", options)


def run_and_kill_slot(job: RunningJob, scenario: DemoScenario) -> JobResult:
    """Wait until the job has finished, and kill one of its slots after some checkpoints."""
    say(f"job {scenario.file}: {scenario.records} at {scenario.rate:,} per second, a checkpoint every {INTERVAL_MS} ms")
    killed: int | None = None
    recovered = False
    printed_at = time.monotonic()
    while (result := job.wait(POLL_S)) is None:
        now = job.progress()
        if killed is None and len(now.completed) >= CHECKPOINTS_BEFORE_KILL:
            killed = slot_processes()[0]
            os.kill(killed, signal.SIGKILL)
            say(f"  {now.records:,} {scenario.records}, checkpoint {now.completed[-1].checkpoint} completed: kill -9 {killed}")
        elif now.recoveries and not recovered:
            recovered = True
            restored = now.recoveries[-1]
            say(f"  lost: {restored.reason}")
            say(f"  RECOVERED in {restored.took_ms} ms from the last checkpoint; Spark has replaced the slot")
        elif time.monotonic() - printed_at >= PRINT_EVERY_S:
            printed_at = time.monotonic()
            last = f"checkpoint {now.completed[-1].checkpoint} completed" if now.completed else "no checkpoint yet"
            say(f"  {now.records:,} {scenario.records}, {last}")
    result.raise_if_failed()
    if killed is None or not result.progress.recoveries:
        raise DemoFailed(f"{scenario.file} finished before a recovery. Killed process: {killed}.")
    say(f"  finished: {len(result.progress.completed)} checkpoints completed, recovered {len(result.progress.recoveries)} x")
    return result


def print_next_steps(root: Path, scenario: DemoScenario) -> None:
    checkpoints = root / "checkpoints"
    kept = [
        info.checkpoint
        for info in list_checkpoints(open_storage(str(checkpoints)), JobLayout(scenario.name))
        if info.status != "retired"
    ]
    other_directory = "" if root == ROOT / "build" / "demo" else f" --directory {shell_path(root)}"
    weir = shell_path(Path(sys.executable).with_name("weir"))
    settings = f"--set input={shell_path(scenario.input)} --set output={shell_path(scenario.output)}"
    say("done: no record lost or duplicated after killing a slot of each job")
    print(f"""
  output       {shell_path(root / "output")}      (Parquet; readers see committed records only)
  checkpoints  {shell_path(checkpoints)} (JSON and Arrow, see docs/checkpoints.md)

Try next:
  {weir} graph {scenario.file} {settings}
  {weir} checkpoints {shell_path(checkpoints)} --job {scenario.name}
  {weir} checkpoints {shell_path(checkpoints)} verify --job {scenario.name}
  # roll back to an older checkpoint: later output is revoked and produced again
  {weir} run {scenario.file} {settings} --checkpoint-dir {shell_path(checkpoints)} --from {kept[0]} --yes
  # compare again
  {shell_path(Path(sys.executable))} examples/demo_runtime.py --verify{other_directory}""")


if __name__ == "__main__":
    sys.exit(main())
