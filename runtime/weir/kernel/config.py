"""Limits and waits of a job."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.kernel.checkpoints import CheckpointConfig
from weir.kernel.restarts import RestartConfig


@dataclass(frozen=True, slots=True)
class JobConfig:
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    restarts: RestartConfig = field(default_factory=RestartConfig)
    heartbeat_timeout_ms: int = 5_000
    lease_ms: int = 10_000
    slots_timeout_ms: int = 60_000
    deploy_timeout_ms: int = 60_000
    cancel_timeout_ms: int = 3_000
    commit_attempts_max: int = 5
    commits_waiting_max: int = 4
    """No periodic checkpoint is triggered while so many completed ones wait to be committed."""
    log_attempts_max: int = 8
    storage_retry_ms: int = 250
