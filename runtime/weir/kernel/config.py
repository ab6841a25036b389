"""Settings of a job: checkpoint intervals, restarts, timeouts, retry limits and network memory."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from weir.errors import ConfigError
from weir.protocol.events import RecoveryStrategy

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
DURATION_MS_MAX = 10_000 * _UNIT_MS["h"]
HEARTBEAT_MS_MAX = 1_000
BATCH_ROWS = 131_072
"""Maximum number of rows of a batch. With half of this number, abs6 reads a tenth fewer records per second, because each batch has a
fixed cost."""
NETWORK_BYTES = 256 * 1024 * 1024
"""Default network memory of a slot. The default is enough for 64 channels from other slots, each with its maximum credit."""


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """Intervals, timeout and failure limit of checkpoints. At most one checkpoint is pending at a time."""

    interval_ms: int | None = 10_000
    """Time between the triggers of periodic checkpoints. None: no periodic checkpoints."""
    timeout_ms: int = 600_000
    """Maximum time from the trigger until every subtask has acknowledged, for every kind of checkpoint."""
    min_pause_ms: int = 0
    """Minimum time from the end of a checkpoint to the next periodic trigger.

    Checkpoints of other kinds are triggered without this pause.
    """
    tolerable_failed_checkpoints: int | None = 3
    """If more than this number of checkpoints fail in a row, the job fails over. Failed checkpoints of every kind count together.

    None means that any number of checkpoints can fail.
    """


@dataclass(frozen=True, slots=True)
class RestartConfig:
    """The first restart is immediate. The second restart waits for ``initial_delay_ms``. The delay then doubles with each
    restart, up to ``delay_max_ms``.

    The job fails after ``attempts_max`` restarts without a completed checkpoint.
    """

    attempts_max: int = 10
    initial_delay_ms: int = 100
    delay_max_ms: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The timeouts that a user can set, except for the checkpoint timeout. The field ``x_timeout_ms`` corresponds to the option
    ``--x-timeout`` of ``weir run``, and to the field ``timeouts.x`` of a job's spec.

    All other durations in Weir are internal. When an internal timeout expires, Weir either retries the step or waits for a timeout that
    the user can set.
    """

    heartbeat_timeout_ms: int = 5_000
    """Maximum time without a message from a slot. A slot that sends no message for ``heartbeat_timeout_ms`` counts as lost, and
    the coordinator replaces the slot. The lease of a slot is twice as long as this timeout."""
    stuck_timeout_ms: int | None = 60_000
    """Maximum time of one step of a slot's loop, for example of one call of a user function. If a step exceeds
    ``stuck_timeout_ms``, the coordinator replaces the slot. None: no limit."""
    call_timeout_ms: int | None = 600_000
    """Maximum time of one blocking call of a user function in the background. If a call exceeds ``call_timeout_ms``, the
    coordinator replaces the slot. None: no limit."""
    slots_timeout_ms: int | None = None
    """Maximum time to wait for slots before a deployment. If there are too few slots after this time, the job fails. None: no
    limit."""
    deploy_timeout_ms: int = 60_000
    """Maximum time without progress while a slot is being deployed. The duration of a restore is not limited."""
    cancel_timeout_ms: int = 3_000
    """Maximum time to cancel the subtasks of a slot before a new generation. If a slot exceeds ``cancel_timeout_ms``, the
    coordinator replaces the slot."""
    connect_timeout_ms: int = 60_000
    """Maximum time in which a slot must connect to the coordinator or to another slot."""

    @property
    def heartbeat_ms(self) -> int:
        """The time between two heartbeats of a slot. The coordinator needs several heartbeats in each timeout that it checks with
        them."""
        checked = (self.heartbeat_timeout_ms, self.stuck_timeout_ms, self.call_timeout_ms)
        return max(1, min(HEARTBEAT_MS_MAX, self.cancel_timeout_ms // 3, *(one // 5 for one in checked if one is not None)))


DEFAULT_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobConfig(Timeouts):
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    restarts: RestartConfig = field(default_factory=RestartConfig)
    recovery: RecoveryStrategy = RecoveryStrategy.REGIONAL
    """FULL: all slots always restore the checkpoint, even if one slot could be replaced alone."""
    lease_ms: int = 10_000
    slots_warning_ms: int = 60_000
    """Internal: time after which a wait for slots is reported. The job continues to wait for slots."""
    commit_attempts_max: int = 5
    commits_waiting_max: int = 4
    """No periodic checkpoint is triggered while this many completed checkpoints are waiting for their commit."""
    log_attempts_max: int = 8
    storage_retry_ms: int = 250
    """Internal: delay between the first two attempts of a request to storage. The delay doubles after each further attempt."""


def parse_duration_ms(text: str, option: str = "", *, least_ms: int = 1) -> int:
    """Parse ``500ms``, ``10s``, ``1.5m`` or ``1h``. The error message names ``option``. Raises ConfigError."""
    value = f"{option} '{text}'".lstrip()
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{value} is not a duration. Write a number with ms, s, m or h, for example 10s.")
    duration_ms = float(match[1]) * _UNIT_MS[match[2]]
    if not least_ms <= duration_ms <= DURATION_MS_MAX:
        raise ConfigError(f"{value} is out of range. Use a duration from {least_ms}ms to {DURATION_MS_MAX // _UNIT_MS['h']}h.")
    return int(duration_ms)
