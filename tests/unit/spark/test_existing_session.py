"""The session of the user, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from weir.errors import ConfigError
from weir.spark import existing_session
from weir.spark.existing_session import ExistingSession


class Context:
    """A Spark context whose JVM can die."""

    environment: dict[str, str] = {}
    master, appName, pythonExec = "yarn", "app", "python3"
    _jsc = object()
    dead = False

    @property
    def applicationId(self) -> str:
        if self.dead:
            raise ConnectionRefusedError("the JVM is gone")
        return "application-1"


def test_a_job_can_be_closed_after_the_jvm_has_died(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(existing_session, "SparkSession", SimpleNamespace)
    context = Context()
    spark = cast(Any, SimpleNamespace(sparkContext=context))
    first, second, same = (ExistingSession(spark, slots=2, spares=1) for _ in range(3))
    first.occupy("job", "file:///a")
    second.occupy("other", "file:///a")
    assert second.occupied == 3
    with pytest.raises(ConfigError, match="Job 'job' with checkpoints in file:///a already runs in this session"):
        same.occupy("job", "file:///a")
    context.dead = True
    first.close()
    first.close()
    assert second.occupied == 0
    second.close()
    assert not existing_session._running
