"""What `make demo` and `make down` do: the platform, its jobs, a rollback and its undo."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.integration.cli.weir_command import ROOT, refuse_tracebacks
from tests.integration.demo.proof import both_jobs_recovered_and_are_equal
from tests.integration.platform.embedded_rig import Platform
from tests.integration.platform.test_embedded import somewhere

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
DEMO = [sys.executable, str(ROOT / "examples" / "demo.py")]


def demo(platform: Platform, *arguments: str) -> str:
    """What it printed."""
    done = subprocess.run(
        [*DEMO, *arguments], cwd=ROOT, env=os.environ | {"WEIR_HOME": str(platform.root)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=800, check=False,
    )  # fmt: skip
    refuse_tracebacks(done.stdout)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with somewhere() as found:
        yield found


@pytest.fixture(scope="module")
def told(platform: Platform) -> str:
    return demo(platform)


def test_two_workers_are_killed_and_the_output_is_equal(told: str) -> None:
    assert len(re.findall(r"is completed: kill -9 \d+", told)) == 2
    both_jobs_recovered_and_are_equal(told)


def test_the_live_job_is_taken_back_and_forth_and_its_readers_see_that(platform: Platform, told: str) -> None:
    (numbers,) = re.findall(
        r"showed its readers ([\d,]+) before, ([\d,]+) after the rollback, ([\d,]+) after the undo, ([\d,]+) now", told
    )
    before, back, again, now = (int(number.replace(",", "")) for number in numbers)
    assert back < again and before <= again < now
    with platform.connect() as connection:
        plans = connection.execute("SELECT kind, state FROM recovery_plans ORDER BY id").fetchall()
    assert plans == [("rollback", "APPLIED"), ("undo", "APPLIED")]


def test_what_it_prints_leads_to_the_platform(platform: Platform, told: str) -> None:
    assert platform.runs
    assert re.search(rf"open +{platform.state.url} +\(the web interface: admin, with the password in \S*secrets\.json\)", told)
    assert re.search(rf"login --url {platform.state.url} --name admin ", told)


@pytest.mark.usefixtures("told")
def test_it_is_stopped_with_its_live_job_and_stopping_twice_is_no_mistake(platform: Platform) -> None:
    down = demo(platform, "--down")
    assert "weir suspend demo-live --wait" in down and not platform.runs
    assert "is not running" in demo(platform, "--down")
