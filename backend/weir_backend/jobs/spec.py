"""What a version of a job's spec says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, FiniteFloat, StrictBool, StrictInt, StringConstraints

from weir_backend.kit.forms import Form, KeptText, without_nul

_SECRET = re.compile(r"password|passwd|secret|token|credential|access[._-]?key|api[._-]?key", re.IGNORECASE)
_DURATION = r"^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)$"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_H_MAX = 10_000
_SETTINGS_MAX = 200
_TEXT_MAX = 10_000


def _no_secret(name: str) -> str:
    if _SECRET.search(name):
        raise ValueError(
            f"{name} looks like a secret: specs are shown to everybody; put it into a file that the driver can read (for Spark settings: "
            "the one that WEIR_SPARK_CONF_FILE names), and name that"
        )
    return name


ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100), AfterValidator(_no_secret)]
_WORD = "[A-Za-z_][A-Za-z0-9_]*"
EntryPoint = Annotated[str, StringConstraints(pattern=rf"^({_WORD}(\.{_WORD})*:)?{_WORD}$", max_length=300)]
SparkSetting = Annotated[str, StringConstraints(pattern=r"^spark\.[A-Za-z0-9._-]+$", max_length=200), AfterValidator(_no_secret)]


def _kept(value: bool | int | float | str) -> bool | int | float | str:
    if isinstance(value, str):
        if len(value) > _TEXT_MAX:
            raise ValueError(f"it has {len(value):,} characters, at most {_TEXT_MAX:,} are taken")
        return without_nul(value)
    return value


Scalar = Annotated[StrictBool | StrictInt | FiniteFloat | str, AfterValidator(_kept)]


def seconds(duration: str) -> float:
    """``500ms``, ``10s``, ``1.5m``, ``2h``."""
    found = re.fullmatch(_DURATION, duration)
    assert found is not None, f"{duration!r} is no duration"
    return float(found[1]) * _UNITS[found[2]]


def _may_be_nothing(duration: str) -> str:
    if seconds(duration) > _DURATION_H_MAX * _UNITS["h"]:
        raise ValueError(f"'{duration}' is no duration that can be kept: at most {_DURATION_H_MAX}h")
    return duration


def _lasts(duration: str) -> str:
    if seconds(_may_be_nothing(duration)) < _UNITS["ms"]:
        raise ValueError(f"'{duration}' is no duration that can be kept: at least 1ms")
    return duration


def _lasts_or_none(interval: str) -> str:
    return interval if interval == "none" else _lasts(interval)


Pause = Annotated[str, StringConstraints(pattern=_DURATION), AfterValidator(_may_be_nothing)]
Duration = Annotated[str, StringConstraints(pattern=_DURATION), AfterValidator(_lasts)]
Interval = Annotated[str, StringConstraints(pattern=rf"^none$|{_DURATION}"), AfterValidator(_lasts_or_none)]
"""What ``weir run`` takes: here all else is refused by its field, there the run would not start."""


class Checkpointing(Form):
    """``timeout``: a checkpoint that takes longer has failed. ``min_pause``: from the end of one to the beginning of the next, unless somebody
    asks for it. ``tolerable_failed_checkpoints``: so many may fail in a row, after one more the job recovers as from a failure; None: any
    number. ``directory`` None: one of the installation's own for this job."""

    interval: Interval = "10s"
    timeout: Duration = "10m"
    min_pause: Pause = "0s"
    tolerable_failed_checkpoints: Annotated[int, Field(ge=0, le=1_000)] | None = 3
    retained: Annotated[int, Field(ge=1, le=1_000)] = 3
    directory: Annotated[str, StringConstraints(pattern=r"^(/|[a-z][a-z0-9+]*://)[^\x00-\x1f]*$", max_length=1_000)] | None = None
    staging_directory: Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f]*$", max_length=1_000)] | None = None


def interval_s(interval: str) -> float | None:
    """Of ``Checkpointing.interval``. None: ``none``."""
    return None if interval == "none" else seconds(interval)


def apart_s(interval: str, min_pause: str) -> float | None:
    """How far apart checkpoints are that take no time themselves. None: none is taken by itself."""
    every_s = interval_s(interval)
    return None if every_s is None else max(every_s, seconds(min_pause))


class RestartStrategy(Form):
    """Of the driver: each restart in a row waits longer. Slots that are lost are the runtime's own matter.

    After ``well_after_s`` of running the next failure counts as the first.
    """

    attempts: Annotated[int, Field(ge=0, le=1_000)] = 10
    initial_s: Annotated[float, Field(gt=0, le=3_600)] = 1.0
    max_s: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    multiplier: Annotated[float, Field(ge=1, le=10)] = 2.0
    well_after_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0


class SpecBody(Form):
    """``artifact``: digest of an uploaded file. ``entry``: which function makes the job: ``function`` of a .py file (default ``job``),
    ``package.module:function`` of an archive."""

    artifact: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    entry: EntryPoint = "job"
    parameters: Annotated[dict[ParameterName, Scalar], Field(max_length=_SETTINGS_MAX)] = {}
    parallelism: Annotated[int, Field(ge=1, le=1_024)] = 2
    spares: Annotated[int, Field(ge=0, le=1_024)] = 0
    master: Annotated[
        str, StringConstraints(pattern=r"^(local(\[[0-9*]+\])?|yarn|spark://[^\s\x00]+|k8s://[^\s\x00]+)$", max_length=300)
    ] = "local"
    spark_conf: Annotated[dict[SparkSetting, KeptText], Field(max_length=_SETTINGS_MAX)] = {}
    checkpointing: Checkpointing = Checkpointing()
    restart: RestartStrategy = RestartStrategy()
    allow_non_restored_state: bool = False


def whole(body: Mapping[str, Any]) -> dict[str, Any]:
    """``body``: as it is stored. Versions from before checkpoints could be limited say nothing of that: they go on with what was fixed then,
    which is what a version has that does not say it now."""
    return {**body, "checkpointing": Checkpointing().model_dump(mode="json") | body.get("checkpointing", {})}
