"""Check that this version upgrades the stored data of an older commit and resumes its jobs: make upgrade-check FROM=COMMIT.

The older version is set up in a temporary git worktree. The older version runs its demo, suspends the live job and stops its
platform. Then the older version runs a job without a platform, and the job's processes are killed. Then this version starts a
platform on the same data directory, compares the responses of its API, resumes and rolls back the live job, and resumes the
killed job. The output of both jobs must be exact.

Exit code 0 means success, and exit code 1 means that a step failed.
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from demo import roll_back_and_undo
from demo_live import LIVE, Live
from demo_platform import ROOT, WEIR, DemoPlatform, open_client
from demo_scenarios import DemoFailed, DemoScenario, prepare_inputs, scenarios, verify
from weir.cli.client.api import ApiClient
from weir.cli.client.credentials import TOKEN, URL
from weir.errors import WeirError
from weir.spark.session import close_session, open_session
from weir.storage.inspection import list_checkpoints
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir_workers.embedded.data_dir.layout import DataDir

RESOURCES = ("jobs", "artifacts", "runs", "operations", "plans", "checkpoints", "events", "audit")
CHECKPOINTS_BEFORE_KILL = 3
CHECKPOINTS_AFTER_RESUME = 3
ROLL_BACK = 2
"""The number of checkpoints of the older version that are newer than the restored checkpoint of the rollback."""
RATE = 20_000
"""Records per second of the job that the check kills. At this rate, the input of the job lasts for 16 seconds."""
POLL_S = 0.1
TIMEOUT_S = 1800
OUTPUT_LINES_MAX = 40
NOT_INHERITED = ("PYTHONPATH", "VIRTUAL_ENV", "WEIR_VENV", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")
"""Environment variables that would make the older version use code or packages of this version."""

Ids = dict[str, list[int]]
"""The ids of the rows of each resource, ascending."""


@dataclass(frozen=True, slots=True)
class Version:
    """A checkout of the repository, with its command ``weir`` and the environment for its programs."""

    root: Path
    weir_program: Path
    environment: Mapping[str, str]

    def run(self, *command: str | Path) -> None:
        """Raises DemoFailed with the last lines of the command's output if the exit code is not 0."""
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            output = "\n".join(done.stdout.splitlines()[-OUTPUT_LINES_MAX:])
            raise DemoFailed(f"{shlex.join(map(str, command))} failed with exit code {done.returncode}:\n{output}")

    def weir(self, *arguments: str | Path) -> None:
        """Raises DemoFailed."""
        self.run(self.weir_program, *arguments)


class CheckedPlatform(DemoPlatform):
    """A running platform. The commands of ``version`` change the platform, and the API client of this version reads its data. If
    the platform runs an older version, the client reads only ids, because other fields can have different names.
    """

    def __init__(self, directory: DataDir, version: Version) -> None:
        super().__init__(directory, open_client(directory))
        login = {URL: self.url, TOKEN: self.client.endpoint.token}
        self._version = replace(version, environment={**version.environment, **login})

    def weir(self, *arguments: str) -> None:
        self._version.weir(*arguments)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="the older version, such as 22a160e; a shallow clone must fetch it first")
    commit: str = parser.parse_args().commit
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, _interrupt)
    signal.alarm(TIMEOUT_S)
    try:
        # The directory must not be below a private directory, because the user that runs Postgres must be able to access it.
        with tempfile.TemporaryDirectory(prefix="weir-upgrade-", ignore_cleanup_errors=True) as made:
            Path(made).chmod(0o755)
            with git_worktree(Path(made) / "old", commit) as worktree:
                try:
                    check(worktree, Path(made), commit)
                finally:
                    kill_processes_of(Path(made))
    except (DemoFailed, WeirError, OSError, KeyboardInterrupt) as error:
        print(f"FAILED: {str(error) or 'interrupted'}")
        return 1
    print(f"done: this version upgrades the stored data of {commit} and resumes its jobs")
    return 0


def _interrupt(number: int, _: object) -> None:
    raise DemoFailed(f"not done within {TIMEOUT_S} s" if number == signal.SIGALRM else "terminated")


def check(worktree: Path, made: Path, commit: str) -> None:
    """Run all steps of the check. ``made`` is the directory for all data. Raises DemoFailed, WeirError, OSError."""
    for name in (URL, TOKEN):
        os.environ.pop(name, None)
    os.environ["WEIR_HOME"] = str(made / "data")
    directory = DataDir(made / "data")
    new = Version(ROOT, WEIR, os.environ)
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    old = Version(worktree, worktree / ".venv" / "bin" / "weir", kept)
    old_python = old.weir_program.with_name("python")

    with step(f"set up {commit}"):
        old.run("make", "setup")
    with step(f"run the demo of {commit}"):
        old.run(old_python, "examples/demo.py")
    with step(f"suspend the live job of {commit} and stop its platform") as facts:
        platform = CheckedPlatform(directory, old)
        platform.weir("suspend", LIVE, "--wait")
        before, count = read_ids(platform.client), live_of(platform).count()
        facts.append(", ".join(f"{len(ids)} {name}" for name, ids in before.items()))
        old.run(old_python, "examples/demo.py", "--down")
    scenario = scenarios(made / "runtime")[0]
    with step(f"run a job of {commit} without a platform, and kill it") as facts:
        facts.append(f"checkpoint {run_and_kill(old, scenario, made / 'checkpoints')} is its newest")

    with step("start the platform of this version on the same data directory"):
        new.weir("up")
        platform = CheckedPlatform(directory, new)
    with step("read all rows through the API") as facts:
        compare_ids(before, read_ids(platform.client))
        read_documents(platform.client)
        taken = platform.restorable(platform.job(LIVE))
        facts.append("the same as before")
    with step(f"resume job '{LIVE}'") as facts:
        platform.weir("start", LIVE)
        first, newest = wait_for_checkpoints(platform, taken[0])
        facts.append(f"checkpoints {first} to {newest} continue {taken[0]}")
        counted = live_of(platform).count()
        facts.append(f"{count:,} output rows before, {counted:,} now; no running count is missing or occurs twice")
        if counted <= count:
            raise DemoFailed("The resumed job has committed no output.")
    with step(f"roll back to checkpoint {taken[ROLL_BACK]} of {commit}, and undo the rollback") as facts:
        facts += roll_back_and_undo(platform, live_of(platform), taken[ROLL_BACK])
    with step("stop the job and the platform"):
        platform.weir("suspend", LIVE, "--wait")
        platform.client.close()
        new.weir("down")
    with step("resume the killed job and compare its output with Spark SQL") as facts:
        new.weir("run", scenario.file, *run_options(scenario, made / "checkpoints"), "--resume")
        facts.append(f"{len(completed(made / 'checkpoints', scenario))} checkpoints")
        compare_output(scenario)


@contextmanager
def step(what: str) -> Iterator[list[str]]:
    """Print one line: what the step does, and the facts that the caller appends to the yielded list. Suppress all other output."""
    print(f"{what} ... ", end="", flush=True)
    started = time.monotonic()
    facts: list[str] = []
    try:
        with redirect_stdout(io.StringIO()):
            yield facts
    except BaseException:
        print("failed")
        raise
    print("; ".join([f"ok, {time.monotonic() - started:.0f} s", *facts]), flush=True)


@contextmanager
def git_worktree(path: Path, commit: str) -> Iterator[Path]:
    """Raises DemoFailed."""
    here = Version(ROOT, WEIR, os.environ)
    here.run("git", "worktree", "add", "--detach", path, commit)
    try:
        yield path
    finally:
        here.run("git", "worktree", "remove", "--force", path)


def kill_processes_of(made: Path) -> None:
    """Kill the processes that a failed step left running.

    The arguments of such a process contain ``made``, or its ``WEIR_HOME`` is inside ``made``.
    """
    for process in psutil.process_iter():
        try:
            home = process.environ().get("WEIR_HOME", "")
            if process.pid != os.getpid() and (str(made) in " ".join(process.cmdline()) or home.startswith(str(made))):
                process.kill()
        except psutil.Error:
            continue  # the process has ended, or belongs to another user


# ---- the platform ------------------------------------------------------------------------------


def live_of(platform: DemoPlatform) -> Live:
    return Live(platform.directory / "demo")


def read_ids(client: ApiClient) -> Ids:
    return {name: sorted(row["id"] for row in client.rows(f"/{name}", limit=None, sort=("id", "ASC"))) for name in RESOURCES}


def compare_ids(before: Ids, after: Ids) -> None:
    """Raises DemoFailed if ids are missing, or if an added id is lower than the highest old id.

    Higher ids belong to new rows, for example of a login or a started run.
    """
    for name, ids in before.items():
        missing = set(ids) - set(after[name])
        added = {one for one in after[name] if one <= ids[-1]} - set(ids) if ids else set()
        if missing or added:
            raise DemoFailed(f"{name}: {len(ids)} rows before. Ids that are missing: {sorted(missing)}; added: {sorted(added)}.")


def read_documents(client: ApiClient) -> None:
    """Read the data that is stored as JSON: previews of plans, graphs and specs of jobs, details of checkpoints.

    Raises Refused, Unreachable.
    """
    for plan in client.plans(None, 500):
        client.plan(plan["id"])
    for job in client.jobs():
        client.spec(job["id"], job["spec_number"])
        client.graph(job["id"], job["spec_number"])
        for checkpoint in client.checkpoints(job["id"], 3):
            client.checkpoint(checkpoint["id"])


def wait_for_checkpoints(platform: CheckedPlatform, last: int) -> tuple[int, int]:
    """Wait for new completed checkpoints of the live job, and return the first and the newest. Raises DemoFailed.

    ``last`` is the newest checkpoint of the older version, and must be the parent of the first new checkpoint.
    """
    for _ in range(CHECKPOINTS_AFTER_RESUME):
        platform.wait_for_checkpoint(LIVE)
    job = platform.job(LIVE)
    found = [one for one in platform.client.checkpoints(job["id"], None) if one["number"] > last and one["state"] == "COMPLETED"]
    first = found[-1]
    parent = platform.client.checkpoint(first["id"])["parent"]
    if parent != last:
        raise DemoFailed(
            f"Checkpoint {first['number']} has the parent {parent}. Expected parent: {last}, the newest checkpoint before the upgrade."
        )
    return first["number"], found[0]["number"]


# ---- the job without a platform ----------------------------------------------------------------


def run_options(scenario: DemoScenario, checkpoints: Path) -> list[str]:
    settings = (scenario.settings | {"rate": RATE}).items()
    parts = [part for name, value in settings for part in ("--set", f"{name}={value}")]
    return [*parts, "--checkpoint-dir", str(checkpoints), "--interval", "500ms", "--quiet"]


def completed(checkpoints: Path, scenario: DemoScenario) -> list[int]:
    return [int(one.checkpoint) for one in list_checkpoints(open_storage(str(checkpoints)), JobLayout(scenario.name))]


def run_and_kill(version: Version, scenario: DemoScenario, checkpoints: Path) -> int:
    """Run the job, kill its processes after some checkpoints, and return the newest checkpoint. Raises DemoFailed."""
    prepare_inputs([scenario])
    command = [str(version.weir_program), "run", scenario.file, *run_options(scenario, checkpoints)]
    log = checkpoints.with_name("run.log")
    with log.open("wb") as output:
        driver = subprocess.Popen(
            command, cwd=version.root, env=version.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    while not checkpoints.exists() or len(completed(checkpoints, scenario)) < CHECKPOINTS_BEFORE_KILL:
        if driver.poll() is not None:
            raise DemoFailed(f"The job ended with exit code {driver.returncode} before it could be killed:\n{log.read_text()}")
        time.sleep(POLL_S)
    first = psutil.Process(driver.pid)
    for process in [first, *first.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    driver.wait()
    return completed(checkpoints, scenario)[-1]


def compare_output(scenario: DemoScenario) -> None:
    """Raises DemoFailed if the output differs from what Spark SQL computes from the same input."""
    spark = open_session("local", 2, app_name="weir-upgrade-check", extra_conf={"spark.sql.shuffle.partitions": "4"})
    try:
        verify(spark, [scenario])
    finally:
        close_session(spark)


if __name__ == "__main__":
    sys.exit(main())
