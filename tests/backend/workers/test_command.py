"""The driver's command line and environment: Spark settings for each master, and variables that user code can see."""

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
TOKEN = "a-token-for-metrics"
MASTERS = ["local", "local[4]", "spark://host:7077", "yarn", "k8s://https://cluster:6443"]


def body(**more: Any) -> dict[str, Any]:
    return JobSpec(artifact="0" * 64, **more).model_dump(mode="json")


def command_line(spec: dict[str, Any], *, archive: Path | None = None, start: dict[str, Any] | None = None) -> list[str]:
    return run_command(spec, job="pkg.jobs:job", directory="s3://bucket/x", start=start or {"mode": "resume"}, archive=archive)


def option(command: list[str], name: str) -> list[str]:
    return [value for flag, value in zip(command, command[1:], strict=False) if flag == name]


def conf(command: list[str]) -> dict[str, str]:
    return dict(one.split("=", 1) for one in option(command, "--conf"))


@pytest.mark.parametrize("master", MASTERS)
def test_the_command_line_contains_the_master_and_all_settings_unchanged(master: str) -> None:
    chosen = {"spark.executor.memory": "4g", "spark.executor.pyspark.memory": "2g", "spark.yarn.queue": "night = late"}
    command = command_line(body(master=master, spark_conf=chosen, parallelism=8, spares=1, parameters={"day": 3, "deep": True}))
    assert option(command, "--master") == [master] and conf(command) == chosen
    assert option(command, "--parallelism") == ["8"] and option(command, "--spares") == ["1"]
    assert option(command, "--set") == ["day=3", "deep=true"] and "--resume" in command
    assert option(command, "--checkpoint-dir") == ["s3://bucket/x"]


@pytest.mark.parametrize("master", MASTERS)
def test_weir_run_accepts_the_command_line_of_a_driver(master: str) -> None:
    """The command accepts all arguments and fails only because the code of the job does not exist."""
    from weir.cli.app import app_

    command = command_line(body(master=master, allow_non_restored_state=True), start={"mode": "from", "checkpoint": 7})
    arguments = command[command.index("run") :]
    result = CliRunner().invoke(app_, arguments)
    assert isinstance(result.exception, Exception) and "pkg" in str(result.exception), (result.output, result.exception)
    assert option(command, "--from") == ["7"] and "--yes" in command


def test_the_command_line_contains_the_metrics_address_but_not_its_token() -> None:
    from weir.cli.app import app_

    assert "--metrics" not in command_line(body()), "the driver opens no metrics port by default"
    command = run_command(
        body(), job="pkg.jobs:job", directory="/x", start={"mode": "resume"}, archive=None, metrics="[::1]:9400-9419"
    )
    assert option(command, "--metrics") == ["[::1]:9400-9419"]
    result = CliRunner().invoke(app_, command[command.index("run") :], env={"WEIR_METRICS_TOKEN": TOKEN})
    assert isinstance(result.exception, Exception) and "pkg" in str(result.exception), (result.output, result.exception)


def settings(**more: Any) -> Settings:
    return Settings(
        database_url=SecretStr("postgresql://nobody@127.0.0.1:1/nothing"), redis_url=SecretStr("redis://127.0.0.1:1/0"),
        secret_key=SecretStr("a key of sufficient length for tests"), data_dir=Path("/nowhere"), **more,
    )  # fmt: skip


def test_the_metrics_token_is_only_in_the_environment_of_the_driver() -> None:
    run, directory = Run(id=7, directory="7-1-x"), RunDirectory(Path("/run"))
    served = settings(driver_metrics="127.0.0.1:9400", driver_metrics_token=TOKEN)
    worker_environment = {
        "WEIR_DRIVER_METRICS": "127.0.0.1:9400",
        "WEIR_DRIVER_METRICS_TOKEN": TOKEN,
        "WEIR_METRICS_TOKEN": "another token",
    }
    found = environment(worker_environment, _run_environment(served, run, directory), code=CODE)
    assert found["WEIR_METRICS_TOKEN"] == TOKEN and "WEIR_DRIVER_METRICS_TOKEN" not in found
    assert TOKEN not in repr(served)
    assert "WEIR_METRICS_TOKEN" not in environment(worker_environment, _run_environment(settings(), run, directory), code=CODE)
    assert not any(name.startswith("WEIR_") for name in compile_environment(worker_environment, {}, also="WEIR_*", code=CODE))


@pytest.mark.parametrize("token", [None, "", "short", "a long token with blanks"])
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
    without_py_files = conf(command_line(body(master=master), archive=archive))
    with_py_files = conf(command_line(body(master=master, spark_conf={"spark.submit.pyFiles": "/lib.zip"}), archive=archive))
    if master.startswith("local"):
        assert "spark.submit.pyFiles" not in without_py_files and with_py_files == {"spark.submit.pyFiles": "/lib.zip"}
    else:
        assert without_py_files == {"spark.submit.pyFiles": "/run/code.zip"}
        assert with_py_files == {"spark.submit.pyFiles": "/lib.zip,/run/code.zip"}


@pytest.mark.parametrize("master", ["yarn", "k8s://https://cluster:6443"])
def test_on_yarn_and_kubernetes_the_session_has_the_settings_of_the_spec_and_of_weir(master: str, tmp_path: Path) -> None:
    """The test has no cluster, so it checks only the settings of the Spark session."""
    chosen = {
        "spark.executor.pyspark.memory": "2g",
        "spark.kubernetes.container.image": "weir:1",
        "spark.yarn.queue": "night",
        "spark.driver.host": "10.0.0.7",
    }
    found = session_settings(
        master, 4, app_name="flights", extra=conf(command_line(body(master=master, spark_conf=chosen))), scratch=tmp_path
    )
    assert found["spark.master"] == master and found["spark.app.name"] == "flights"
    assert found.items() >= chosen.items() and all(found[name] == value for name, (value, _) in FIXED.items())
    assert "spark.driver.bindAddress" not in found, "executors on other hosts connect to the driver"
    require_python_memory(master, found)
    with pytest.raises(ConfigError, match="kills executors that exceed their declared memory"):
        require_python_memory(master, session_settings(master, 4, app_name="x", extra={}, scratch=tmp_path))


def test_a_setting_that_would_break_a_running_job_is_refused_for_every_master(tmp_path: Path) -> None:
    for master in MASTERS:
        extra = conf(command_line(body(master=master, spark_conf={"spark.dynamicAllocation.enabled": "true"})))
        with pytest.raises(ConfigError, match="dynamicAllocation"):
            session_settings(master, 2, app_name="x", extra=extra, scratch=tmp_path)


def test_the_job_argument_names_a_file_or_a_module_of_an_archive() -> None:
    assert target(ArtifactKind.PYTHON, "job.py", "job", CODE) == "/run/code/job.py:job"
    assert target(ArtifactKind.WHEEL, "x.whl", "pkg.jobs:night", CODE) == "pkg.jobs:night"
    assert target(ArtifactKind.ZIP, "x.zip", "jobs", CODE) == "jobs:job"


WORKER_ENVIRONMENT = {
    "PATH": "/bin", "LC_ALL": "C.UTF-8", "JAVA_HOME": "/java", "PYTHONPATH": "/lib", "HOME": "/home/me",
    "AWS_SECRET_ACCESS_KEY": "x", "DATABASE_PASSWORD": "x", "GITHUB_TOKEN": "x", "PGPASSWORD": "x", "CELERY_BROKER_URL": "x",
    "WEIR_SECRET_KEY": "x", "WEIR_DATABASE_URL": "x", "WEIR_SPARK_CONF_FILE": "/spark.conf",
}  # fmt: skip


def test_the_compiler_gets_only_environment_variables_that_are_known_to_be_harmless() -> None:
    found = compile_environment(WORKER_ENVIRONMENT, {"HOME": "/tmp/x", "TMPDIR": "/tmp/x"}, also="", code=CODE)
    assert found == {
        "PATH": "/bin", "LC_ALL": "C.UTF-8", "JAVA_HOME": "/java", "PYTHONPATH": "/run/code:/lib", "HOME": "/tmp/x", "TMPDIR": "/tmp/x",
        "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def test_the_compiler_gets_configured_environment_variables_but_no_secrets_of_the_control_plane() -> None:
    found = compile_environment(WORKER_ENVIRONMENT, {}, also="AWS_*, WEIR_*,PGPASSWORD, GITHUB", code=CODE)
    assert found["AWS_SECRET_ACCESS_KEY"] == "x" and found["WEIR_SPARK_CONF_FILE"] == "/spark.conf"
    assert not found.keys() & {"WEIR_SECRET_KEY", "WEIR_DATABASE_URL", "PGPASSWORD", "GITHUB_TOKEN", "DATABASE_PASSWORD"}


def test_a_driver_inherits_the_environment_without_secrets_of_the_control_plane() -> None:
    found = environment(WORKER_ENVIRONMENT, {"WEIR_RUN_TOKEN": "run token"}, code=CODE)
    assert found["AWS_SECRET_ACCESS_KEY"] == "x" and found["WEIR_RUN_TOKEN"] == "run token" and found["HOME"] == "/home/me"
    assert not found.keys() & {"WEIR_SECRET_KEY", "WEIR_DATABASE_URL", "PGPASSWORD", "CELERY_BROKER_URL"}
