"""Checkpoints in an object store. The driver and the slots read the endpoint and the credentials of the object store from the AWS
environment variables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from slot_kill import killed_after
from small_job import expected_totals, job, numbers, totals
from tests.s3_server import s3_server
from weir_command import weir

from weir import Job, Params
from weir.coordinator.start import FromCheckpoint, Resume
from weir.errors import ConfigError
from weir.kernel.effects import JobOutcome
from weir.spark.launch import RunOptions, launch, run_job
from weir.spark.session import LazySession
from weir.storage.inspection import list_checkpoints, verify
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def _s3() -> Iterator[None]:
    """Starts a local S3 server with a bucket named ``weir``. The fixture sets the server's address and credentials as
    environment variables. Slots inherit the environment of the driver, so the server must start before the Spark session."""
    with s3_server("weir") as endpoint, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_REGION", "us-east-1")
        yield


@pytest.fixture(scope="module")
def session(_s3: None) -> Iterator[LazySession]:
    shared = LazySession("local", 2, app_name="weir-tests", conf={})
    yield shared
    shared.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"s3://weir/{tmp_path.name}"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    numbers(tmp_path / "input")
    return tmp_path


def small(directory: Path, *, rate: int = 0) -> Job:
    return job(Params({"input": str(directory / "input"), "output": str(directory / "output"), "rate": rate}))


def options(url: str, **settings: Any) -> RunOptions:
    return RunOptions(checkpoint_dir=url, interval_ms=200, **settings)


def test_the_output_and_the_checkpoints_in_s3_are_correct_after_a_slot_is_killed(
    session: LazySession, directory: Path, url: str
) -> None:
    result = killed_after(launch(small(directory, rate=1_000), options(url), session=session), checkpoints=2)
    assert (result.outcome, result.reason) == (JobOutcome.FINISHED, "")
    assert totals(directory / "output") == expected_totals()
    storage, layout = open_storage(url), JobLayout("small")
    kept = [info.checkpoint for info in list_checkpoints(storage, layout) if info.status == "restorable"]
    assert len(kept) == 3
    assert all(verify(storage, layout, one).intact for one in kept)
    verified = weir("checkpoints", url, "verify")
    assert verified.code == 0 and verified.out.count(": verified, ") == 3


def test_a_job_resumes_and_rolls_back_from_s3(session: LazySession, directory: Path, url: str) -> None:
    running = launch(small(directory, rate=1_000), options(url), session=session)
    while (result := running.wait(0.05)) is None:
        if len(running.progress().completed) >= 3:
            running.suspend()
    assert result.outcome is JobOutcome.SUSPENDED
    middle = result.progress.completed[-2].checkpoint
    # ``retained=10`` keeps ``middle``, even if additional periodic checkpoints complete on a slow host.
    resumed = run_job(small(directory), options(url, start=Resume(), retained=10), session=session)
    assert resumed.outcome is JobOutcome.FINISHED
    assert totals(directory / "output") == expected_totals()
    first = set((directory / "output").glob("*/*.parquet"))

    again = run_job(small(directory), options(url, start=FromCheckpoint(middle)), session=session)
    assert (again.outcome, again.reason) == (JobOutcome.FINISHED, "")
    assert totals(directory / "output") == expected_totals()
    assert first - set((directory / "output").glob("*/*.parquet")), "the output after the checkpoint is revoked and written again"
    assert pq.read_table(directory / "output", partitioning=None).num_rows == 4_000


def test_a_missing_bucket_is_refused_and_the_message_says_how_to_fix_it(session: LazySession, directory: Path) -> None:
    with pytest.raises(ConfigError, match="s3://missing/x.*bucket does not exist. Create the bucket, or correct the URL"):
        run_job(small(directory), options("s3://missing/x"), session=session)
