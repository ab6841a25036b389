"""The driver's command line and environment: Spark settings per kind of master, and the variables that user code can see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError
from typer.testing import CliRunner

from weir.errors import ConfigError
from weir.spark.settings import FIXED, require_python_memory, session_settings
from weir_backend.jobs.spec import JobSpec
from weir_backend.models import ArtifactKind, Run
from weir_backend.settings import Settings
from weir_workers.drivers.command import compile_environment, environment, run_command, target
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.tasks.submission import _run_environment

CODE = Path("/run/code")
TOKEN = "a-token-of-our-own"
MASTERS = ["local", "local[4]", "spark://host:7077", "yarn", "k8s://https://cluster:6443"]


def body(**more: Any) -> dict[str, Any]:
    return JobSpec(artifact="0" * 64, **more).model_dump(mode="json")


def line(spec: dict[str, Any], *, archive: Path | None = None, start: dict[str, Any] | None = None) -> list[str]:
    return run_command(spec, job="pkg.jobs:job", directory="s3://bucket/x", start=start or {"mode": "resume"}, archive=archive)


def option(command: list[str], name: str) -> list[str]:
    return [value for flag, value in zip(command, command[1:], strict=False) if flag == name]


def conf(command: list[str]) -> dict[str, str]:
    return dict(one.split("=", 1) for one in option(command, "--conf"))


@pytest.mark.parametrize("master", MASTERS)
def test_the_master_and_all_settings_are_passed_unchanged(master: str) -> None:
    chosen = {"spark.executor.memory": "4g", "spark.executor.pyspark.memory": "2g", "spark.yarn.queue": "night = late"}
    command = line(body(master=master, spark_conf=chosen, parallelism=8, spares=1, parameters={"day": 3, "deep": True}))
    assert option(command, "--master") == [master] and conf(command) == chosen
    assert option(command, "--parallelism") == ["8"] and option(command, "--spares") == ["1"]
    assert option(command, "--set") == ["day=3", "deep=true"] and "--resume" in command
    assert option(command, "--checkpoint-dir") == ["s3://bucket/x"]


@pytest.mark.parametrize("master", MASTERS)
def test_weir_run_accepts_the_command_line(master: str) -> None:
    """The command gets as far as looking for the job's code."""
    from weir.cli.app import app_

    command = line(body(master=master, allow_non_restored_state=True), start={"mode": "from", "checkpoint": 7})
    words = command[command.index("run") :]
    said = CliRunner().invoke(app_, words)
    assert isinstance(said.exception, Exception) and "pkg" in str(said.exception), (said.output, said.exception)
    assert option(command, "--from") == ["7"] and "--yes" in command


def test_the_metrics_address_is_on_the_command_line_and_its_token_is_not() -> None:
    from weir.cli.app import app_

    assert "--metrics" not in line(body()), "no port is opened by default"
    command = run_command(
        body(), job="pkg.jobs:job", directory="/x", start={"mode": "resume"}, archive=None, metrics="[::1]:9400-9419"
    )
    assert option(command, "--metrics") == ["[::1]:9400-9419"]
    said = CliRunner().invoke(app_, command[command.index("run") :], env={"WEIR_METRICS_TOKEN": TOKEN})
    assert isinstance(said.exception, Exception) and "pkg" in str(said.exception), (said.output, said.exception)


def settings(**more: Any) -> Settings:
    return Settings(
        database_url=SecretStr("postgresql://nobody@127.0.0.1:1/nothing"), redis_url=SecretStr("redis://127.0.0.1:1/0"),
        secret_key=SecretStr("a key for tests, as long as it has to be"), data_dir=Path("/nowhere"), **more,
    )  # fmt: skip


def test_the_metrics_token_is_in_the_drivers_environment_only() -> None:
    run, directory = Run(id=7, directory="7-1-x"), RunDirectory(Path("/run"))
    served = settings(driver_metrics="127.0.0.1:9400", driver_metrics_token=TOKEN)
    ours = {"WEIR_DRIVER_METRICS": "127.0.0.1:9400", "WEIR_DRIVER_METRICS_TOKEN": TOKEN, "WEIR_METRICS_TOKEN": "of somebody else"}
    found = environment(ours, _run_environment(served, run, directory), code=CODE)
    assert found["WEIR_METRICS_TOKEN"] == TOKEN and "WEIR_DRIVER_METRICS_TOKEN" not in found
    assert TOKEN not in repr(served)
    assert "WEIR_METRICS_TOKEN" not in environment(ours, _run_environment(settings(), run, directory), code=CODE)
    assert not any(name.startswith("WEIR_") for name in compile_environment(ours, {}, also="WEIR_*", code=CODE))


@pytest.mark.parametrize("token", [None, "", "short", "with a blank in it, long"])
def test_a_metrics_address_without_a_token_is_refused(token: str | None) -> None:
    with pytest.raises(ValidationError, match="WEIR_DRIVER_METRICS requires WEIR_DRIVER_METRICS_TOKEN") as refused:
        settings(driver_metrics="127.0.0.1:9400", driver_metrics_token=token)
    assert [one["loc"] for one in refused.value.errors()] == [("driver_metrics_token",)]
    assert not token or token not in str(refused.value)


@pytest.mark.parametrize("address", ["9400", "localhost", "localhost:9410-9400", "localhost:70000"])
def test_an_invalid_metrics_address_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="write HOST:PORT"):
        settings(driver_metrics=address, driver_metrics_token=TOKEN)
    assert settings(driver_metrics="", driver_metrics_token="").driver_metrics is None, "empty means not set"


@pytest.mark.parametrize("master", MASTERS)
def test_an_archive_is_shipped_to_executors_on_other_hosts(master: str) -> None:
    archive = Path("/run/code.zip")
    alone = conf(line(body(master=master), archive=archive))
    beside = conf(line(body(master=master, spark_conf={"spark.submit.pyFiles": "/lib.zip"}), archive=archive))
    if master.startswith("local"):
        assert "spark.submit.pyFiles" not in alone and beside == {"spark.submit.pyFiles": "/lib.zip"}
    else:
        assert alone == {"spark.submit.pyFiles": "/run/code.zip"}
        assert beside == {"spark.submit.pyFiles": "/lib.zip,/run/code.zip"}


@pytest.mark.parametrize("master", ["yarn", "k8s://https://cluster:6443"])
def test_the_session_settings_of_a_driver_on_a_container_cluster(master: str, tmp_path: Path) -> None:
    """As far as possible without a cluster: the settings of the session."""
    chosen = {
        "spark.executor.pyspark.memory": "2g",
        "spark.kubernetes.container.image": "weir:1",
        "spark.yarn.queue": "night",
        "spark.driver.host": "10.0.0.7",
    }
    found = session_settings(
        master, 4, app_name="flights", extra=conf(line(body(master=master, spark_conf=chosen))), scratch=tmp_path
    )
    assert found["spark.master"] == master and found["spark.app.name"] == "flights"
    assert found.items() >= chosen.items() and all(found[name] == value for name, (value, _) in FIXED.items())
    assert "spark.driver.bindAddress" not in found, "executors on other hosts must reach it"
    require_python_memory(master, found)
    with pytest.raises(ConfigError, match="kills executors that exceed their declared memory"):
        require_python_memory(master, session_settings(master, 4, app_name="x", extra={}, scratch=tmp_path))


def test_a_setting_that_would_break_a_running_job_is_refused_for_every_master(tmp_path: Path) -> None:
    for master in MASTERS:
        extra = conf(line(body(master=master, spark_conf={"spark.dynamicAllocation.enabled": "true"})))
        with pytest.raises(ConfigError, match="dynamicAllocation"):
            session_settings(master, 2, app_name="x", extra=extra, scratch=tmp_path)


def test_the_job_argument_of_a_file_and_of_an_archive() -> None:
    assert target(ArtifactKind.PYTHON, "job.py", "job", CODE) == "/run/code/job.py:job"
    assert target(ArtifactKind.WHEEL, "x.whl", "pkg.jobs:night", CODE) == "pkg.jobs:night"
    assert target(ArtifactKind.ZIP, "x.zip", "jobs", CODE) == "jobs:job"


OURS = {
    "PATH": "/bin", "LC_ALL": "C.UTF-8", "JAVA_HOME": "/java", "PYTHONPATH": "/lib", "HOME": "/home/me",
    "AWS_SECRET_ACCESS_KEY": "x", "DATABASE_PASSWORD": "x", "GITHUB_TOKEN": "x", "PGPASSWORD": "x", "CELERY_BROKER_URL": "x",
    "WEIR_SECRET_KEY": "x", "WEIR_DATABASE_URL": "x", "WEIR_SPARK_CONF_FILE": "/spark.conf",
}  # fmt: skip


def test_compilation_sees_known_harmless_variables_only() -> None:
    found = compile_environment(OURS, {"HOME": "/tmp/x", "TMPDIR": "/tmp/x"}, also="", code=CODE)
    assert found == {
        "PATH": "/bin", "LC_ALL": "C.UTF-8", "JAVA_HOME": "/java", "PYTHONPATH": "/run/code:/lib", "HOME": "/tmp/x", "TMPDIR": "/tmp/x",
        "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def test_compilation_sees_named_variables_but_never_those_of_the_control_plane() -> None:
    found = compile_environment(OURS, {}, also="AWS_*, WEIR_*,PGPASSWORD, GITHUB", code=CODE)
    assert found["AWS_SECRET_ACCESS_KEY"] == "x" and found["WEIR_SPARK_CONF_FILE"] == "/spark.conf"
    assert not found.keys() & {"WEIR_SECRET_KEY", "WEIR_DATABASE_URL", "PGPASSWORD", "GITHUB_TOKEN", "DATABASE_PASSWORD"}


def test_a_driver_inherits_the_environment_without_variables_of_the_control_plane() -> None:
    found = environment(OURS, {"WEIR_RUN_TOKEN": "its own"}, code=CODE)
    assert found["AWS_SECRET_ACCESS_KEY"] == "x" and found["WEIR_RUN_TOKEN"] == "its own" and found["HOME"] == "/home/me"
    assert not found.keys() & {"WEIR_SECRET_KEY", "WEIR_DATABASE_URL", "PGPASSWORD", "CELERY_BROKER_URL"}
