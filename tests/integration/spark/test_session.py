from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest
from pyspark import SparkContext
from tests.integration.spark.process_tree import argument_lists, process_tree

from weir.errors import ConfigError
from weir.spark.session import CONF_FILE, close_session, driver_address, open_session

pytestmark = pytest.mark.spark


def test_only_one_session_can_be_open_and_a_new_session_inherits_no_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "spark.conf"
    secrets.write_text("spark.hadoop.fs.s3a.secret.key  hidden-key-4711\n\n# a comment\nspark.custom.password=hidden-word-4712\n")
    secrets.chmod(0o600)
    monkeypatch.setenv(CONF_FILE, str(secrets))

    spark = open_session("local[*]", 2, extra_conf={"spark.sql.shuffle.partitions": "3"})
    try:
        assert spark.sparkContext.master == "local[2,4]"
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
        conf = spark.sparkContext.getConf()
        assert conf.get("spark.hadoop.fs.s3a.secret.key") == "hidden-key-4711"
        assert conf.get("spark.custom.password") == "hidden-word-4712"
        assert "hidden-" not in argument_lists(process_tree(os.getpid()))
        assert driver_address(spark).bind == driver_address(spark).advertise == "127.0.0.1"
        scratch = Path(conf.get("spark.python.unix.domain.socket.dir") or "")
        assert scratch.is_dir()
        with pytest.raises(ConfigError, match="already runs in this process"):
            open_session("local", 1)
    finally:
        close_session(spark)
    close_session(spark)
    assert not [child for child in psutil.Process().children(recursive=True) if "java" in child.name()]
    assert not scratch.exists()

    again = open_session("local", 1)
    try:
        # The settings of the closed session have no effect on the new session.
        assert again.sparkContext.master == "local[1,4]"
        assert again.conf.get("spark.sql.shuffle.partitions") == "200"
    finally:
        close_session(again)


def test_an_unknown_master_is_reported() -> None:
    with pytest.raises(ConfigError, match=r"could not start Spark with the master 'nowhere:1' .*Master must"):
        open_session("nowhere:1", 1)
    assert SparkContext._gateway is None


def test_a_session_whose_jvm_was_killed_can_be_replaced() -> None:
    spark = open_session("local", 1)
    [java] = [child for child in psutil.Process().children(recursive=True) if "java" in child.name()]
    java.kill()
    java.wait()
    close_session(spark)
    again = open_session("local", 1)
    assert again.range(3).count() == 3
    close_session(again)


def test_invalid_settings_in_spark_defaults_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.barrier.sync.timeout 5s\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match=r"Spark's own configuration: spark\.barrier\.sync\.timeout"):
        open_session("local", 1)
    assert SparkContext._gateway is None
    assert not [child for child in psutil.Process().children(recursive=True) if "java" in child.name()]
