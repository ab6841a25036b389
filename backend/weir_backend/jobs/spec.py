"""The spec of a job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, FiniteFloat, StrictBool, StrictInt, StringConstraints

from weir.protocol.events import RecoveryStrategy
from weir.protocol.secret_references import SecretReference
from weir_backend.kit.schemas import RequestModel, StorableText, storable_text

_SECRET = re.compile(r"password|passwd|secret|token|credential|access[._-]?key|api[._-]?key", re.IGNORECASE)
_DURATION = r"^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)$"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_H_MAX = 10_000
_BUFFER_S_MAX = 10.0
_HEARTBEAT_S_MIN, _STEP_S_MIN, _DEPLOY_S_MIN = 2.0, 1.0, 2.0
_SIZE = r"^(\d{1,9})(KiB|MiB|GiB)$"
_SHIFTS = {"KiB": 10, "MiB": 20, "GiB": 30}
_SIZE_MIB_MIN, _SIZE_GIB_MAX = 1, 1_024
_SETTINGS_MAX = 200
_TEXT_MAX = 10_000


def _no_secret(setting: str) -> str:
    if _SECRET.search(setting):
        raise ValueError(
            f"{setting} looks like a secret, and all users can read specs. Put the secret into a file that the driver can read (the "
            "file that WEIR_SPARK_CONF_FILE names)"
        )
    return setting


ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
_WORD = "[A-Za-z_][A-Za-z0-9_]*"
EntryPoint = Annotated[str, StringConstraints(pattern=rf"^({_WORD}(\.{_WORD})*:)?{_WORD}$", max_length=300)]
SparkSetting = Annotated[str, StringConstraints(pattern=r"^spark\.[A-Za-z0-9._-]+$", max_length=200), AfterValidator(_no_secret)]


def _storable(value: bool | int | float | str) -> bool | int | float | str:
    if isinstance(value, str):
        if len(value) > _TEXT_MAX:
            raise ValueError(f"the text has {len(value):,} characters; the limit is {_TEXT_MAX:,}")
        return storable_text(value)
    return value


Scalar = Annotated[StrictBool | StrictInt | FiniteFloat | str, AfterValidator(_storable)]


def _no_plain_secrets(parameters: dict[str, Scalar]) -> dict[str, Scalar]:
    """Refuse texts that are probably secrets. The job decides which of its parameters are secrets, and its compilation refuses a plain
    value. But a spec is stored before it is compiled, and then all users can read it."""
    for name, value in parameters.items():
        if _SECRET.search(name) and isinstance(value, str) and SecretReference.parse(value) is None:
            raise ValueError(
                f"{name} looks like a secret, and all users can read specs. Write a reference: env:VARIABLE, file:/PATH or secret:NAME "
                "(a secret of the platform), and read it in the job with params.secret. If it is not a secret, rename the parameter"
            )
    return parameters


def seconds(duration: str) -> float:
    """Convert a duration such as ``500ms``, ``10s``, ``1.5m`` or ``2h`` to seconds."""
    found = re.fullmatch(_DURATION, duration)
    assert found is not None, f"{duration!r} is not a duration"
    return float(found[1]) * _UNITS[found[2]]


def size_bytes(size: str) -> int:
    """Convert a size such as ``256MiB`` to bytes."""
    found = re.fullmatch(_SIZE, size)
    assert found is not None, f"{size!r} is not a size"
    return int(found[1]) << _SHIFTS[found[2]]


def _at_most_limit(duration: str) -> str:
    if seconds(duration) > _DURATION_H_MAX * _UNITS["h"]:
        raise ValueError(f"the duration '{duration}' is above the limit of {_DURATION_H_MAX}h")
    return duration


def _positive(duration: str) -> str:
    if seconds(_at_most_limit(duration)) < _UNITS["ms"]:
        raise ValueError(f"the duration '{duration}' is below the minimum of 1ms")
    return duration


def _heartbeat(duration: str) -> str:
    if seconds(_at_most_limit(duration)) < _HEARTBEAT_S_MIN:
        raise ValueError(f"the duration '{duration}' is below the minimum of {_HEARTBEAT_S_MIN:g}s. Use a longer duration.")
    return duration


def _deployment(duration: str) -> str:
    if seconds(_at_most_limit(duration)) < _DEPLOY_S_MIN:
        raise ValueError(f"the duration '{duration}' is below the minimum of {_DEPLOY_S_MIN:g}s. Use a longer duration.")
    return duration


def _step_or_none(duration: str) -> str:
    if duration != "none" and seconds(_at_most_limit(duration)) < _STEP_S_MIN:
        raise ValueError(f"the duration '{duration}' is below the minimum of {_STEP_S_MIN:g}s. Use a longer duration or 'none'.")
    return duration


def _size(size: str) -> str:
    if not _SIZE_MIB_MIN << 20 <= size_bytes(size) <= _SIZE_GIB_MAX << 30:
        raise ValueError(f"the size '{size}' is out of range; use a size from {_SIZE_MIB_MIN}MiB to {_SIZE_GIB_MAX}GiB")
    return size


def _buffer_timeout(duration: str) -> str:
    if duration not in ("adaptive", "0") and seconds(duration) > _BUFFER_S_MAX:
        raise ValueError(f"the duration '{duration}' is above the limit of {_BUFFER_S_MAX:g}s")
    return duration


def _positive_or_none(interval: str) -> str:
    return interval if interval == "none" else _positive(interval)


Pause = Annotated[str, StringConstraints(pattern=_DURATION), AfterValidator(_at_most_limit)]
Duration = Annotated[str, StringConstraints(pattern=_DURATION), AfterValidator(_positive)]
Interval = Annotated[str, StringConstraints(pattern=rf"^none$|{_DURATION}"), AfterValidator(_positive_or_none)]
StepTimeout = Annotated[str, StringConstraints(pattern=rf"^none$|{_DURATION}"), AfterValidator(_step_or_none)]
DeployTimeout = Annotated[str, StringConstraints(pattern=_DURATION), AfterValidator(_deployment)]
HeartbeatTimeout = Annotated[str, StringConstraints(pattern=_DURATION), AfterValidator(_heartbeat)]
BufferTimeout = Annotated[str, StringConstraints(pattern=rf"^(adaptive|0)$|{_DURATION}"), AfterValidator(_buffer_timeout)]
Size = Annotated[str, StringConstraints(pattern=_SIZE), AfterValidator(_size)]
"""These types accept only values that the options of ``weir run`` accept, so the API refuses an invalid value before the driver starts.
For a step without a timeout, ``StepTimeout`` accepts only ``none``, not ``0``."""


class Checkpointing(RequestModel):
    """How a job takes checkpoints. A checkpoint that takes longer than `timeout` fails. `min_pause` is the minimum time between the end of a
    checkpoint and the start of the next periodic checkpoint. If more than `tolerable_failed_checkpoints` consecutive checkpoints fail, the job
    recovers as after a failure. If `tolerable_failed_checkpoints` is null, any number of checkpoints can fail. If `directory` is null, the job
    uses its default directory."""

    interval: Interval = "10s"
    timeout: Duration = "10m"
    min_pause: Pause = "0s"
    tolerable_failed_checkpoints: Annotated[int, Field(ge=0, le=1_000)] | None = 3
    retained: Annotated[int, Field(ge=1, le=1_000)] = 3
    directory: Annotated[str, StringConstraints(pattern=r"^(/|[a-z][a-z0-9+]*://)[^\x00-\x1f]*$", max_length=1_000)] | None = None
    staging_directory: Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f]*$", max_length=1_000)] | None = None


def interval_s(interval: str) -> float | None:
    """Convert ``Checkpointing.interval``. None: no periodic checkpoints."""
    return None if interval == "none" else seconds(interval)


def min_distance_s(interval: str, min_pause: str) -> float | None:
    """Return the minimum time between the starts of periodic checkpoints, or None if there are no periodic checkpoints."""
    every_s = interval_s(interval)
    return None if every_s is None else max(every_s, seconds(min_pause))


class Timeouts(RequestModel):
    """The timeouts of a job, except for the checkpoint timeout. The timeouts `stuck`, `call` and `slots` can be `none`, which means no limit.

    Weir replaces a slot that sends nothing for longer than `heartbeat`. Weir also replaces a slot if one step, such as a call of a user
    function, takes longer than `stuck`, or if one blocking call takes longer than `call`. If the slots of the job do not start within `slots`,
    the job fails. If a deployment makes no progress for `deploy`, the job restarts. Before a restart, each slot cancels its subtasks. If a
    slot takes longer than `cancel` to cancel its subtasks, Weir replaces the slot. Weir replaces a slot that cannot connect to the driver
    within `connect`. If a slot cannot connect to another slot within `connect`, the job restarts."""

    heartbeat: HeartbeatTimeout = "5s"
    stuck: StepTimeout = "60s"
    call: StepTimeout = "10m"
    slots: Interval = "none"
    deploy: DeployTimeout = "60s"
    cancel: Duration = "3s"
    connect: Duration = "60s"


class RestartStrategy(RequestModel):
    """How Weir restarts the driver after a failure. The delay before a restart grows with each consecutive restart. The runtime replaces lost
    slots without a restart of the driver.

    When the driver has run for `reset_after_s`, the count of restarts is reset.
    """

    attempts: Annotated[int, Field(ge=0, le=1_000)] = 10
    initial_s: Annotated[float, Field(gt=0, le=3_600)] = 1.0
    max_s: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    multiplier: Annotated[float, Field(ge=1, le=10)] = 2.0
    reset_after_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0


class JobSpec(RequestModel):
    """`artifact` is the digest of an uploaded file. `entry` names the function that builds the job: `function` in a .py file (default `job`), or
    `package.module:function` in an archive. `network_memory` is the memory of each slot for records from other slots. `buffer_timeout` is the
    maximum time that records wait in a buffer between two operators: a duration, `0` (no wait) or `adaptive`. `recovery` is the
    finest way in which the job can recover from the failure of a slot: `full` (all slots restore the last checkpoint) or `regional` (if no slot
    exchanges records with another slot, only the failed slot restores it)."""

    artifact: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    entry: EntryPoint = "job"
    parameters: Annotated[dict[ParameterName, Scalar], Field(max_length=_SETTINGS_MAX), AfterValidator(_no_plain_secrets)] = {}
    parallelism: Annotated[int, Field(ge=1, le=1_024)] = 2
    spares: Annotated[int, Field(ge=0, le=1_024)] = 0
    master: Annotated[
        str, StringConstraints(pattern=r"^(local(\[[0-9*]+\])?|yarn|spark://[^\s\x00]+|k8s://[^\s\x00]+)$", max_length=300)
    ] = "local"
    spark_conf: Annotated[dict[SparkSetting, StorableText], Field(max_length=_SETTINGS_MAX)] = {}
    checkpointing: Checkpointing = Checkpointing()
    timeouts: Timeouts = Timeouts()
    network_memory: Size = "256MiB"
    buffer_timeout: BufferTimeout = "adaptive"
    recovery: RecoveryStrategy = RecoveryStrategy.REGIONAL
    restart: RestartStrategy = RestartStrategy()
    allow_non_restored_state: bool = False


_DEFAULTS = JobSpec(artifact="0" * 64).model_dump(mode="json", exclude={"artifact"})


def with_defaults(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored spec ``body``, with the defaults of the settings that did not exist when the spec was stored."""
    groups = {name: _DEFAULTS[name] | body.get(name, {}) for name in ("checkpointing", "timeouts")}
    return {**_DEFAULTS, **body, **groups}
