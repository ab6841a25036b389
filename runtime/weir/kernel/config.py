"""Settings of a job: checkpoint intervals, restarts, timeouts, retry limits and network memory."""

from __future__ import annotations

from dataclasses import dataclass, field

NETWORK_BYTES = 256 * 1024 * 1024
"""Default memory of a slot for batches from other slots. Up to 64 channels from other slots have the full window."""


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
    """If more than this number of checkpoints fail in a row, the job fails over. Checkpoints of every kind count.

    None means that any number of checkpoints can fail.
    """


@dataclass(frozen=True, slots=True)
class RestartConfig:
    """The first restart is immediate. Later restarts wait, first for ``initial_delay_ms``, then twice as long each time, up
    to ``delay_max_ms``.

    The job fails after ``attempts_max`` restarts without a completed checkpoint.
    """

    attempts_max: int = 10
    initial_delay_ms: int = 100
    delay_max_ms: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The timeouts that a user can set, except for the checkpoint timeout. Each field ``x_timeout_ms`` is the option
    ``--x-timeout`` of ``weir run``, and the field ``timeouts.x`` of a job's spec.

    All other durations in Weir are internal: they end in a retry, or in one of the timeouts here.
    """

    heartbeat_timeout_ms: int = 5_000
    """Maximum silence of a slot. After this time, the slot counts as lost and is replaced. Its lease is twice as long."""
    stuck_timeout_ms: int | None = 60_000
    """Maximum time of one step of a slot's loop, for example of one call of a user function. After this time, the slot is
    replaced. None: no limit."""
    call_timeout_ms: int | None = 600_000
    """Maximum time of one blocking call of a user function in the background. After this time, the slot is replaced. None: no
    limit."""
    slots_timeout_ms: int | None = None
    """Maximum time to wait for slots before a deployment. After this time, the job fails. None: wait until the job is cancelled."""
    deploy_timeout_ms: int = 60_000
    """Maximum time without progress of a slot that is being deployed. The duration of a restore is not limited."""
    cancel_timeout_ms: int = 3_000
    """Maximum time to cancel the subtasks of a slot before a new generation. After this time, the slot is replaced."""
    connect_timeout_ms: int = 60_000
    """Maximum time of a slot to connect to the coordinator or to another slot."""


DEFAULT_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobConfig(Timeouts):
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    restarts: RestartConfig = field(default_factory=RestartConfig)
    lease_ms: int = 10_000
    slots_warning_ms: int = 60_000
    """Internal: time after which a wait for slots is reported. The job continues to wait."""
    commit_attempts_max: int = 5
    commits_waiting_max: int = 4
    """No periodic checkpoint is triggered while this many completed checkpoints are waiting for their commit."""
    log_attempts_max: int = 8
    storage_retry_ms: int = 250
    """Internal: time between the attempts of a request to storage, of which there are ``log_attempts_max``."""
