"""Starting and ending the driver's JVM."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from subprocess import PIPE, TimeoutExpired
from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from weir.errors import ConfigError
from weir.spark.settings import is_secret

_NOISE = (b"WARNING: Using incubator modules", b"Using Spark's default log4j profile", b"Setting default log level",
          b"To adjust logging level")  # fmt: skip
"""What Java and Spark print at every start, to nobody's use and before any log setting can stop them."""

_END_S = 10.0
_launch: Callable[..., Any] = launch_gateway  # which declares no types


def launch(settings: Mapping[str, str]) -> Any:
    """The gateway to a new JVM (or to the one that spark-submit started this process with).

    pyspark turns the settings into arguments of the JVM, which every user of the machine can read; so only those that are
    not secret are given here. The others follow through the gateway. Raises ConfigError if Java does not come up.
    """
    conf = SparkConf(loadDefaults=False)
    if conf._jconf is not None:
        raise ConfigError(
            "a JVM of an earlier Spark session is still there: end that session by weir.spark.session.close_session"
        )
    conf.setAll([(setting, value) for setting, value in settings.items() if not is_secret(setting)])
    try:
        gateway = _launch(conf, popen_kwargs={"stderr": PIPE})
    except PySparkRuntimeError as error:
        raise ConfigError(
            f"Java did not start Spark (JAVA_HOME={os.environ.get('JAVA_HOME')}): {error}; "
            "run `java -version` there, and look at spark.driver.* settings"
        ) from error
    if gateway.proc is not None:
        threading.Thread(target=_pass_on, args=(gateway.proc.stderr,), name="weir-spark-stderr", daemon=True).start()
    return gateway


def end() -> None:
    """End the JVM of this process and wait until it is gone. Without one: nothing."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    SparkContext._gateway = None
    SparkContext._jvm = None
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    # The JVM leaves when its standard input ends.
    process.stdin.close()
    try:
        process.wait(_END_S)
    except TimeoutExpired:
        process.kill()
        process.wait()


def _pass_on(stderr: IO[bytes]) -> None:
    """Everything but noise goes to our own standard error, until the JVM is gone."""
    for line in stderr:
        if not line.startswith(_NOISE):
            sys.stderr.write(line.decode(errors="replace"))
            sys.stderr.flush()
    stderr.close()
