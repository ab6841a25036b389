"""Starting and ending the driver's JVM."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from subprocess import TimeoutExpired
from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from weir.errors import ConfigError
from weir.spark.settings import is_secret

_NOISE = (b"WARNING: Using incubator modules", b"Using Spark's default log4j profile", b"Setting default log level",
          b"To adjust logging level")  # fmt: skip
"""What Java and Spark print at every start, to nobody's use and before any log setting can stop them."""

_EARLY_LINES_MAX = 100
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
    relay = _Relay()
    try:
        gateway = _launch(conf, popen_kwargs={"stderr": relay.end})
    except PySparkRuntimeError as error:
        raise ConfigError(
            f"Java did not start Spark with the master {settings['spark.master']!r} (JAVA_HOME={os.environ.get('JAVA_HOME')}): "
            f"{relay.complaint() or error}"
        ) from error
    relay.forward()
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


class _Relay:
    """Carries the JVM's standard error to our own, without the noise; from ``forward`` on, which begins with what came before.

    It is a pipe because nothing else can be told apart line by line. Its thread ends with the JVM.
    """

    def __init__(self) -> None:
        source, self.end = os.pipe()
        self._source: IO[bytes] = os.fdopen(source, "rb")
        self._early: list[str] = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="weir-spark-stderr", daemon=True)
        self._thread.start()

    def forward(self) -> None:
        os.close(self.end)  # The JVM has its own copy.
        self._started.set()

    def complaint(self) -> str:
        """Instead of ``forward``, when the JVM is gone: what it died of, in its own words."""
        os.close(self.end)
        self._thread.join(_END_S)
        named = [line for line in self._early if re.search(r"error|exception", line, re.IGNORECASE)]
        return (named or self._early or [""])[0].strip()

    def _run(self) -> None:
        with self._source:
            for line in self._source:
                if line.startswith(_NOISE):
                    continue
                text = line.decode(errors="replace")
                if self._started.is_set():
                    self._flush_early()
                    _print(text)
                elif len(self._early) < _EARLY_LINES_MAX:
                    self._early.append(text)
        if self._started.is_set():
            self._flush_early()

    def _flush_early(self) -> None:
        while self._early:
            _print(self._early.pop(0))


def _print(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
