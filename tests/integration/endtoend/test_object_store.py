"""Checkpoints in an object store, which the driver and all slots find by the environment, as obstore and every AWS tool do."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from disturbed import killed_after
from moto.server import ThreadedMotoServer
from small_job import expected_totals, job, numbers, totals
from weir_command import weir

from weir import Job, Params
from weir.coordinator.start import FromCheckpoint, Resume
from weir.errors import ConfigError
from weir.kernel.effects import Outcome
from weir.spark.launch import RunOptions, launch, run_job
from weir.spark.planner import LazySession
from weir.storage.inspection import list_checkpoints, verify
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def _s3() -> Iterator[None]:
    """A local S3 server with a bucket named ``weir``. Before the session: slots inherit the environment of the driver."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/weir", method="PUT")).close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        patch.setenv("AWS_ACCESS_KEY_ID", "anybody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
        patch.setenv("AWS_REGION", "us-east-1")
        yield
    server.stop()


@pytest.fixture(scope="module")
def session(_s3: None) -> Iterator[LazySession]:
    shared = LazySession("local", 2, app_name="weir-tests", conf={})
    yield shared
    shared.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"s3://weir/{tmp_path.name}"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    numbers(tmp_path / "input")
    return tmp_path


def small(place: Path, *, rate: int = 0) -> Job:
    return job(Params({"input": str(place / "input"), "output": str(place / "output"), "rate": rate}))


def options(url: str, **more: Any) -> RunOptions:
    return RunOptions(checkpoint_dir=url, interval_ms=200, **more)


def test_a_job_with_checkpoints_in_s3_survives_a_kill_and_its_checkpoints_are_whole(
    session: LazySession, place: Path, url: str
) -> None:
    result = killed_after(launch(small(place, rate=1_000), options(url), session=session), checkpoints=2)
    assert (result.outcome, result.reason) == (Outcome.FINISHED, "")
    assert totals(place / "output") == expected_totals()
    storage, layout = open_storage(url), JobLayout("small")
    kept = [info.checkpoint for info in list_checkpoints(storage, layout) if info.status == "restorable"]
    assert len(kept) == 3
    assert all(verify(storage, layout, one).intact for one in kept)
    said = weir("checkpoints", url, "verify")
    assert said.code == 0 and said.out.count(": whole, ") == 3


def test_a_job_is_resumed_from_s3_and_goes_back_there(session: LazySession, place: Path, url: str) -> None:
    running = launch(small(place, rate=1_000), options(url), session=session)
    while (result := running.wait(0.05)) is None:
        if len(running.progress().completed) >= 3:
            running.suspend()
    assert result.outcome is Outcome.SUSPENDED
    middle = result.progress.completed[-2].checkpoint
    # A slow machine takes a periodic checkpoint more before the final one: the one in the middle has to be kept all the same.
    resumed = run_job(small(place), options(url, start=Resume(), retained=10), session=session)
    assert resumed.outcome is Outcome.FINISHED
    assert totals(place / "output") == expected_totals()
    first = set((place / "output").glob("*.parquet"))

    again = run_job(small(place), options(url, start=FromCheckpoint(middle)), session=session)
    assert (again.outcome, again.reason) == (Outcome.FINISHED, "")
    assert totals(place / "output") == expected_totals()
    assert first - set((place / "output").glob("*.parquet")), "what came after it was taken back, and came anew"
    assert pq.read_table(place / "output", partitioning=None).num_rows == 4_000


def test_a_bucket_that_is_not_there_is_refused_with_what_to_do(session: LazySession, place: Path) -> None:
    with pytest.raises(ConfigError, match="s3://nobodys/x.*bucket does not exist; create it, or correct the URL"):
        run_job(small(place), options("s3://nobodys/x"), session=session)
