"""A job of the platform on a standalone Spark cluster: an executor dies, then its driver, and its output is exact in the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.integration.cli.small_job import expected_totals, totals
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import called, until
from tests.integration.platform.test_embedded import temporary_platform
from tests.integration.platform.test_life_of_a_job import driver, last_checkpoint, running, spec, upgraded

from weir.spark.standalone import StandaloneCluster

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1_200)]
PATIENCE_S = 300.0
"""A machine with two cores has to start three JVMs."""


@pytest.fixture
def cluster() -> Iterator[StandaloneCluster]:
    with StandaloneCluster(workers=1, cores=2, memory_mb=512) as found:
        yield found


def executors(cluster: StandaloneCluster) -> list[psutil.Process]:
    below = (one for pid in cluster.pids[1:] for one in psutil.Process(pid).children(recursive=True))
    return called("CoarseGrainedExecutorBackend", below)


def test_a_job_on_a_standalone_cluster_survives_its_executor_and_its_driver(cluster: StandaloneCluster, tmp_path: Path) -> None:
    # The secret of the cluster is in a file of the workers' host, and in no spec.
    conf = tmp_path / "spark.conf"
    conf.touch(mode=0o600)
    conf.write_text("".join(f"{name} {value}\n" for name, value in cluster.session_settings().items()))
    with temporary_platform() as platform:
        said = platform.weir("up", env={"WEIR_SPARK_CONF_FILE": str(conf)})
        assert said.code == 0, said.err
        api = Api(platform.state.url, "admin", platform.secrets.admin_password)
        made = api.send("POST", "/jobs", json={"name": "afar", "spec": spec(api, tmp_path, master=cluster.master_url)})
        before = api.wait(made["id"], lambda job: running(job) and last_checkpoint(job) >= 3, timeout_s=PATIENCE_S)
        (executor,) = executors(cluster)
        executor.kill()
        recovered = api.wait(
            made["id"],
            lambda job: (
                running(job)
                and job["run"]["generation"] > before["run"]["generation"]
                and last_checkpoint(job) > last_checkpoint(before) + 2
            ),
            timeout_s=PATIENCE_S,
        )
        # Usually the runtime recovers by itself. If the cluster takes more than a minute to provide another executor, the driver
        # gives up and the platform starts another run; the job continues either way.
        number = recovered["run"]["number"]

        os.kill(driver(platform, api, recovered).pid, signal.SIGKILL)
        again = api.wait(
            made["id"],
            lambda job: (
                running(job) and job["run"]["number"] == number + 1 and last_checkpoint(job) > last_checkpoint(recovered) + 2
            ),
            timeout_s=PATIENCE_S,
        )
        assert again["run"]["cause"] == "restart"
        until(lambda: len(executors(cluster)) == 1, "the application of the dead driver has left the cluster")

        api.send("POST", f"/jobs/{made['id']}/suspend")
        api.wait(made["id"], lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
        until(lambda: not executors(cluster), "a suspended job holds no resources of the cluster")
        faster = spec(api, tmp_path, master=cluster.master_url)
        faster["parameters"]["rate"] = 0
        added = api.send("POST", f"/jobs/{made['id']}/specs", json={"spec": faster}, headers={"If-Match": "*"})
        assert api.apply(upgraded(api, made["id"], added["number"])["id"])["state"] == "SUCCEEDED"
        api.wait(made["id"], lambda job: job["state"] == "FINISHED", timeout_s=PATIENCE_S)
        assert totals(tmp_path / "output") == expected_totals()
        secret = cluster.session_settings()["spark.authenticate.secret"]
        logs = [path.read_text() for path in (platform.root / "runs").glob("*/driver.log")]
        assert logs and not [log for log in logs if secret in log]
