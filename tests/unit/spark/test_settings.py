from __future__ import annotations

from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir.spark.settings import (
    FIXED,
    PYTHON_MEMORY,
    is_loopback,
    is_secret,
    reject_unsupported,
    require_python_memory,
    session_problems,
    session_settings,
    spark_master,
)


@pytest.mark.parametrize(
    ("given", "used"),
    [("local", "local[5,4]"), ("local[*]", "local[5,4]"), ("local[2]", "local[2,4]"), ("local[2,9]", "local[2,4]"),
     ("spark://host:7077", "spark://host:7077"), ("yarn", "yarn"), ("local-cluster[1,1,1024]", "local-cluster[1,1,1024]")],
)  # fmt: skip
def test_a_local_master_gets_one_core_per_slot_by_default(given: str, used: str) -> None:
    assert spark_master(given, 5) == used


@pytest.mark.parametrize("setting", sorted(FIXED))
def test_the_error_for_an_invalid_value_of_a_fixed_setting_contains_the_reason(setting: str) -> None:
    right, reason = FIXED[setting]
    reject_unsupported({setting: right.upper()}, where="here")
    wrong = {"true": "false", "false": "true"}.get(right, "7")
    with pytest.raises(ConfigError) as caught:
        reject_unsupported({"spark.app.name": "x", setting: wrong}, where="here")
    assert f"here: {setting}={wrong}" in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "setting", ["spark.barrier.sync.timeout", "spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "spark.remote"]
)
def test_unsupported_settings_are_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match=setting.replace(".", r"\.")):
        reject_unsupported({setting: "1"}, where="here")


@pytest.mark.parametrize(
    "setting",
    ["spark.authenticate.secret", "spark.hadoop.fs.s3a.secret.key", "spark.hadoop.fs.s3a.access.key", "spark.ssl.keyPassword",
     "spark.hadoop.fs.azure.account.oauth2.client.token"],
)  # fmt: skip
def test_settings_that_spark_redacts_in_its_logs_count_as_secret(setting: str) -> None:
    assert is_secret(setting)


@pytest.mark.parametrize("setting", ["spark.authenticate", "spark.ui.enabled", "spark.master", "spark.sql.session.timeZone"])
def test_settings_that_the_launch_needs_do_not_count_as_secret(setting: str) -> None:
    assert not is_secret(setting)


@pytest.mark.parametrize(
    ("master", "loopback"),
    [("local[2]", True), ("spark://127.0.0.1:7077", True), ("spark://localhost:7077", True), ("spark://127.example.com:7077", False),
     ("spark://localhost.example.com:1", False), ("yarn", False), ("spark://10.0.0.1:7077", False)],
)  # fmt: skip
def test_a_driver_binds_to_loopback_only_if_its_master_is_on_the_same_host(master: str, loopback: bool, tmp_path: Path) -> None:
    assert is_loopback(master) is loopback
    extra = {"spark.authenticate.secret": "s"}
    settings = session_settings(master, 1, app_name="x", extra=extra, scratch=tmp_path)
    assert (settings.get("spark.driver.bindAddress") == "127.0.0.1") is loopback


def test_user_settings_override_the_defaults_and_extend_the_java_options(tmp_path: Path) -> None:
    extra = {"spark.network.timeout": "60s", "spark.driver.extraJavaOptions": "-Dmine=1", "spark.app.name": "theirs"}
    settings = session_settings("yarn", 1, app_name="job name", extra=extra, scratch=tmp_path)
    assert settings["spark.network.timeout"] == "60s"
    assert settings["spark.driver.extraJavaOptions"].endswith("log4j2-quiet.properties -Dmine=1")
    assert settings["spark.app.name"] == "job name"


def test_a_standalone_master_without_an_authentication_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="WEIR_SPARK_CONF_FILE"):
        session_settings("spark://host:7077", 1, app_name="x", extra={}, scratch=tmp_path)


@pytest.mark.parametrize("master", ["yarn", "k8s://https://host:6443"])
def test_on_yarn_and_kubernetes_the_python_memory_must_be_set(master: str) -> None:
    with pytest.raises(ConfigError, match=rf"The master {master} kills executors .* --conf spark.executor.pyspark.memory=4g"):
        require_python_memory(master, {"spark.executor.memory": "4g"})
    for name in PYTHON_MEMORY:
        require_python_memory(master, {name: "4g"})


@pytest.mark.parametrize("master", ["local[2,4]", "spark://host:7077"])
def test_masters_other_than_yarn_and_kubernetes_need_no_setting_for_the_python_memory(master: str) -> None:
    require_python_memory(master, {})


SAFE = {"spark.master": "spark://host:7077", "spark.authenticate": "true", "spark.network.crypto.enabled": "true"}


@pytest.mark.parametrize(
    "changed",
    [{}, {"spark.network.crypto.enabled": "false", "spark.ssl.rpc.enabled": "true"}, {"spark.ui.enabled": "true", "spark.task.cpus": "2"},
     {"spark.speculation": "FALSE", "spark.task.maxFailures": "1"}, {"spark.python.worker.killOnIdleTimeout": "true"},
     {"spark.python.use.daemon": "false", "spark.sql.session.timeZone": "Asia/Tokyo"}],
)  # fmt: skip
def test_a_session_of_the_user_may_have_other_settings_than_a_session_of_weir(changed: dict[str, str]) -> None:
    assert session_problems(SAFE | changed, trusted_network=False) == []
    assert session_problems({"spark.master": "local[2]"}, trusted_network=False) == []


def test_all_settings_that_slots_cannot_run_with_are_reported_with_their_remedies() -> None:
    conf = {
        "spark.master": "yarn",
        "spark.speculation": "true",
        "spark.dynamicAllocation.enabled": "true",
        "spark.task.reaper.enabled": "true",
        "spark.excludeOnFailure.enabled": "true",
        "spark.barrier.sync.timeout": "5s",
        "spark.remote": "sc://host",
        "spark.python.worker.killOnIdleTimeout": "true",
        "spark.python.worker.idleTimeoutSeconds": "60",
        "spark.task.maxFailures": "2147483647",
    }
    problems = session_problems(conf, trusted_network=False)
    remedies = ["spark.speculation=false.", "spark.dynamicAllocation.enabled=false.", "spark.task.reaper.enabled=false.",
                "spark.excludeOnFailure.enabled=false.", "Remove it.", "Remove it.", "spark.python.worker.killOnIdleTimeout=false.",
                "spark.task.maxFailures=4.", "trusted_network=True", "trusted_network=True", "spark.executor.pyspark.memory=4g"]  # fmt: skip
    assert len(problems) == len(remedies)
    for problem, remedy in zip(problems, remedies, strict=True):
        assert remedy in problem
    assert len(session_problems(conf, trusted_network=True)) == len(problems) - 2
