"""The output and the effects of `make demo` and `make down`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.integration.cli.weir_command import ROOT, refuse_tracebacks
from tests.integration.demo.demo_output import check_both_jobs
from tests.integration.platform.embedded_rig import Platform
from tests.integration.platform.test_embedded import temporary_platform

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
DEMO = [sys.executable, str(ROOT / "examples" / "demo.py")]


def demo(platform: Platform, *arguments: str) -> str:
    """Run the demo and return its output."""
    done = subprocess.run(
        [*DEMO, *arguments], cwd=ROOT, env=os.environ | {"WEIR_HOME": str(platform.root)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=800, check=False,
    )  # fmt: skip
    refuse_tracebacks(done.stdout)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with temporary_platform() as not_started:
        yield not_started


@pytest.fixture(scope="module")
def output(platform: Platform) -> str:
    return demo(platform)


def test_the_output_is_correct_although_two_slots_are_killed(output: str) -> None:
    assert len(re.findall(r"completed: kill -9 \d+", output)) == 2
    check_both_jobs(output)


def test_the_demo_rolls_the_live_job_back_and_undoes_the_rollback(platform: Platform, output: str) -> None:
    (numbers,) = re.findall(
        r"readers of 'demo-live' saw ([\d,]+) before, ([\d,]+) after the rollback, ([\d,]+) after the undo, ([\d,]+) now", output
    )
    before, back, again, now = (int(number.replace(",", "")) for number in numbers)
    assert back < again and before <= again < now
    with platform.connect() as connection:
        plans = connection.execute("SELECT kind, state FROM recovery_plans ORDER BY id").fetchall()
    assert plans == [("rollback", "APPLIED"), ("undo", "APPLIED")]


def test_the_summary_shows_the_url_and_the_login_command(platform: Platform, output: str) -> None:
    assert platform.is_running
    assert re.search(rf"open +{platform.state.url} +\(the web UI: admin, with the password in \S*secrets\.json\)", output)
    assert re.search(rf"login --url {platform.state.url} --name admin ", output)


@pytest.mark.usefixtures("output")
def test_down_stops_the_platform_and_a_second_down_does_nothing(platform: Platform) -> None:
    down = demo(platform, "--down")
    assert "weir suspend demo-live --wait" in down and not platform.is_running
    assert "is not running" in demo(platform, "--down")
