"""A job of the platform on a standalone Spark cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.integration.cli.small_job import expected_totals, totals
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import until, with_argument
from tests.integration.platform.test_embedded import temporary_platform
from tests.integration.platform.test_life_of_a_job import driver, last_checkpoint, running, spec, upgraded
from tests.standalone_cluster import StandaloneCluster

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1_200)]
WAIT_S = 300.0
"""Timeout for a job to reach the expected state. The timeout is long, because a machine with two cores has to start three JVMs."""


@pytest.fixture
def cluster() -> Iterator[StandaloneCluster]:
    with StandaloneCluster(workers=1, cores=2, memory_mb=512) as found:
        yield found


def executors(cluster: StandaloneCluster) -> list[psutil.Process]:
    processes = (one for pid in cluster.pids[1:] for one in psutil.Process(pid).children(recursive=True))
    return with_argument("CoarseGrainedExecutorBackend", processes)


def test_the_output_is_exact_after_an_executor_and_a_driver_on_a_standalone_cluster_are_killed(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    # The secret of the cluster is in a file on the host of the Weir workers and is not part of a spec.
    conf = tmp_path / "spark.conf"
    conf.touch(mode=0o600)
    conf.write_text("".join(f"{name} {value}\n" for name, value in cluster.session_settings().items()))
    with temporary_platform() as platform:
        result = platform.weir("up", env={"WEIR_SPARK_CONF_FILE": str(conf)})
        assert result.code == 0, result.err
        api = Api(platform.state.url, "admin", platform.secrets.admin_password)
        created = api.send("POST", "/jobs", json={"name": "standalone", "spec": spec(api, tmp_path, master=cluster.master_url)})
        before = api.wait(created["id"], lambda job: running(job) and last_checkpoint(job) >= 3, timeout_s=WAIT_S)
        (executor,) = executors(cluster)
        executor.kill()
        recovered = api.wait(
            created["id"],
            lambda job: (
                running(job)
                and job["run"]["generation"] > before["run"]["generation"]
                and last_checkpoint(job) > last_checkpoint(before) + 2
            ),
            timeout_s=WAIT_S,
        )
        # Usually the driver itself recovers from the kill of the executor. If the cluster does not provide another executor
        # within a minute, the driver exits and the platform starts another run.
        number = recovered["run"]["number"]

        os.kill(driver(platform, api, recovered).pid, signal.SIGKILL)
        again = api.wait(
            created["id"],
            lambda job: (
                running(job) and job["run"]["number"] == number + 1 and last_checkpoint(job) > last_checkpoint(recovered) + 2
            ),
            timeout_s=WAIT_S,
        )
        assert again["run"]["cause"] == "restart"
        until(lambda: len(executors(cluster)) == 1, "the executors of the killed driver have ended")

        api.send("POST", f"/jobs/{created['id']}/suspend")
        api.wait(created["id"], lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
        until(lambda: not executors(cluster), "a suspended job has no executors")
        faster = spec(api, tmp_path, master=cluster.master_url)
        faster["parameters"]["rate"] = 0
        added = api.send("POST", f"/jobs/{created['id']}/specs", json={"spec": faster}, headers={"If-Match": "*"})
        assert api.apply(upgraded(api, created["id"], added["number"])["id"])["state"] == "SUCCEEDED"
        api.wait(created["id"], lambda job: job["state"] == "FINISHED", timeout_s=WAIT_S)
        assert totals(tmp_path / "output") == expected_totals()
        secret = cluster.session_settings()["spark.authenticate.secret"]
        logs = [path.read_text() for path in (platform.root / "runs").glob("*/driver.log")]
        assert logs and not [log for log in logs if secret in log]
