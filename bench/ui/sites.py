"""The installations whose web UI is measured: the UI with its simulated backend, a control plane with a simulated driver of a wide
job, and an embedded platform."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from bench.platform.client import Client
from bench.platform.job_writer import JobWriter
from bench.platform.server import TemporaryControlPlane, platform
from bench.platform.table_filler import quiet
from bench.ui.options import ROOT
from bench.ui.wide_job import WideJobDriver, run_driver, wide_graph
from weir_backend.artifacts import service as artifacts
from weir_backend.kit.access import Caller, permissions_of
from weir_backend.models import Role
from weir_backend.ui import Ui
from weir_workers.embedded.data_dir import credentials, platform_state
from weir_workers.embedded.data_dir.credentials import ADMINISTRATOR
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.ports import free_port

START_S_MAX = 30.0
JOBS = 3
"""Number of jobs of the embedded platform. These jobs are not started, so that no Spark runs during the measurement."""
EXAMPLE = ROOT / "examples" / "wordcount.py"
SEED = 7


@dataclass(frozen=True, slots=True)
class Site:
    """``search``: query string of the first address. ``job_id``: None means that the job is found by its name."""

    url: str
    name: str
    password: str
    search: str = ""
    job_id: int | None = None


@contextmanager
def simulated(built: Path) -> Iterator[Site]:
    """Serve the UI with its simulated backend as the API serves it: compressed and with the same headers."""
    if not (built / "index.html").is_file():
        raise SystemExit(f"{built} has no web UI with simulated backend. Run: make bench-ui")
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(
            Starlette(routes=[Mount("/", app=Ui(built))]), host="127.0.0.1", port=port, lifespan="off", log_level="warning"
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + START_S_MAX
        while not server.started:
            if time.monotonic() > deadline or not thread.is_alive():
                raise SystemExit(f"the server of the simulated web UI did not start within {START_S_MAX:.0f} s")
            time.sleep(0.02)
        yield Site(f"http://127.0.0.1:{port}", "admin", "weir", search="?wide")
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def real() -> Iterator[Site]:
    """A control plane with its own Postgres, and a wide job whose simulated driver sends events continuously."""
    quiet()
    with platform() as served:
        writer = _job_writer(served)
        job_id = writer.deploy("wide")
        driver = WideJobDriver(served.url, writer.live_run(job_id), SEED)
        _require_ui(served.url)
        driver.send_history(writer.graph)
        with run_driver(driver):
            yield Site(served.url, ADMINISTRATOR, served.password, job_id=job_id)


def _job_writer(served: TemporaryControlPlane) -> JobWriter:
    with served.client() as client:
        administrator = client.get("/api/v1/session").json()
    caller = Caller(administrator["user_id"], administrator["name"], permissions_of(Role.ADMIN, rollback=True))
    with served.database.session() as session:
        found, _ = artifacts.upload(
            session, caller, name="wide.py", data=b'"""The job of the benchmark: see bench/ui/wide_job.py."""\n'
        )
        digest = found.digest
    return JobWriter(served.settings, served.database, caller, digest, wide_graph())


@contextmanager
def embedded() -> Iterator[Site]:
    """An embedded platform in an empty directory, with some jobs."""
    root = Path(tempfile.mkdtemp(prefix="weir-bench-"))
    weir = Path(sys.executable).with_name("weir")
    try:
        subprocess.run([weir, "up", "--data-dir", root], check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=os.environ)
        try:
            directory = DataDir(root)
            state, secrets = platform_state.read(directory.state), credentials.load(directory.secrets)
            assert state is not None and secrets is not None
            site = Site(state.url, ADMINISTRATOR, secrets.admin_password)
            _require_ui(site.url)
            _create_jobs(site)
            yield site
        finally:
            subprocess.run([weir, "down", "--data-dir", root], check=False, stdout=subprocess.DEVNULL, cwd=ROOT)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _require_ui(url: str) -> None:
    with Client(url) as client:
        if client.get("/").status != 200:
            raise SystemExit("the web UI is not built. Run: make ui")


def _create_jobs(site: Site) -> None:
    with Client(site.url) as client:
        token = str(client.post("/api/v1/session", {"name": site.name, "password": site.password}).json()["token"])
    with Client(site.url, token) as client:
        uploaded = client.post(f"/api/v1/artifacts?name={EXAMPLE.name}", EXAMPLE.read_bytes())
        for number in range(JOBS):
            draft = {"name": f"words-{number}", "spec": {"artifact": uploaded.json()["digest"]}, "start": False}
            answer = client.post("/api/v1/jobs", draft)
            if answer.status != 201:
                raise SystemExit(f"the API refused a job: {answer.status} {answer.body[:200].decode(errors='replace')}")
