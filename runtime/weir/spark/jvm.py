"""Start and end the driver's JVM, and summarise its errors."""

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
"""Lines that Java and Spark print at every start, before any log setting applies, and that no user needs."""

_EARLY_LINES_MAX = 100
_END_S = 10.0
"""Internal: maximum time to wait until the JVM has exited. Weir kills a JVM that has not ended after this time."""
_launch: Callable[..., Any] = launch_gateway  # which declares no types

_RAISED = re.compile(r"[\w.]*(Error|Exception|Interrupt|Exit)\b(:|$)")


def launch(settings: Mapping[str, str]) -> Any:
    """Return the gateway to a new JVM, or to the JVM with which spark-submit started this process.

    pyspark turns settings into arguments of the JVM, and every user of the host can read these arguments. So ``launch`` gives
    pyspark only settings that are not secret. The caller passes secret settings through the gateway. Raise ConfigError if Java
    does not start.
    """
    conf = SparkConf(loadDefaults=False)
    if conf._jconf is not None:
        raise ConfigError(
            "A JVM of an earlier Spark session is still running. End that session with weir.spark.session.close_session."
        )
    conf.setAll([(setting, value) for setting, value in settings.items() if not is_secret(setting)])
    relay = _Relay()
    try:
        gateway = _launch(conf, popen_kwargs={"stderr": relay.end})
    except PySparkRuntimeError as error:
        raise ConfigError(
            f"Java could not start Spark with the master {settings['spark.master']!r} (JAVA_HOME={os.environ.get('JAVA_HOME')}): "
            f"{relay.error_message() or error}"
        ) from error
    relay.forward()
    return gateway


def belongs_to_spark_submit() -> bool:
    """Return whether spark-submit has started the JVM and this process. The JVM then ends after this process."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def end() -> None:
    """End the JVM that this process has started, if one is running, and wait until the JVM has exited."""
    gateway = SparkContext._gateway
    if gateway is None or belongs_to_spark_submit():
        return
    SparkContext._gateway = None
    SparkContext._jvm = None
    gateway.shutdown()
    process = gateway.proc
    # The JVM exits when its standard input ends.
    process.stdin.close()
    try:
        process.wait(_END_S)
    except TimeoutExpired:
        process.kill()
        process.wait()


class _Relay:
    """Forwards the JVM's standard error to the standard error of this process, without the lines that no user needs.

    Output is buffered until ``forward`` is called, and the buffered lines are printed first.

    The JVM writes to a pipe, so that the relay can filter single lines. The relay's thread ends with the JVM.
    """

    def __init__(self) -> None:
        source, self.end = os.pipe()
        self._source: IO[bytes] = os.fdopen(source, "rb")
        self._early: list[str] = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="weir-spark-stderr", daemon=True)
        self._thread.start()

    def forward(self) -> None:
        os.close(self.end)  # The JVM has a copy.
        self._started.set()

    def error_message(self) -> str:
        """Return the JVM's error message. If the JVM has exited early, call ``error_message`` instead of ``forward``."""
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


def error_summary(error: Exception) -> str:
    """Return the line of a Spark exception that describes the error. The other lines are Java's stack.

    A Python traceback names the error in its last line. Any other message names the error in its first line.
    """
    java = getattr(error, "java_exception", None)
    message = str(error) if java is None else str(java.getMessage())
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    if "Traceback (most recent call last)" in message and raised:
        return raised[-1]
    first = lines[0] if lines else "unknown reason"
    # Drop the details of the failed Spark task.
    return re.sub(r"^Job aborted due to stage failure: .* \(TID \d+\) \([^)]*\): ", "", first)
