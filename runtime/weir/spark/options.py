"""The options of a run. Options do not change the results that the job computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from weir.coordinator.start import Fresh, StartMode
from weir.kernel.config import BATCH_ROWS, NETWORK_BYTES, RestartConfig, Timeouts
from weir.protocol.events import RecoveryStrategy
from weir.subtask.settings import LogSettings


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run. If ``interval_ms`` is None, the final checkpoint is the only checkpoint. ``CheckpointConfig`` describes
    ``checkpoint_timeout_ms``, ``min_pause_ms`` and ``tolerable_failed_checkpoints``. ``spares`` is the number of warm slots
    beyond the parallelism.

    ``by_value`` are modules that executors do not have (the job's file), so their functions are pickled as a whole.
    """

    checkpoint_dir: str
    parallelism: int = 2
    master: str = "local"
    interval_ms: int | None = 10_000
    checkpoint_timeout_ms: int = 600_000
    min_pause_ms: int = 0
    tolerable_failed_checkpoints: int | None = 3
    start: StartMode = field(default_factory=Fresh)
    spares: int = 0
    retained: int = 3
    batch_rows: int = BATCH_ROWS
    network_bytes: int = NETWORK_BYTES
    """Memory of each slot for batches from other slots, including batches in transit."""
    buffer_timeout_ms: float | None = None
    """Maximum time that a small batch waits for more rows, at its sender and again at its receiver. 0: no wait. None: a time that
    grows with the parallelism."""
    restarts: RestartConfig = field(default_factory=RestartConfig)
    recovery: RecoveryStrategy = RecoveryStrategy.REGIONAL
    """What restarts after the failure of a slot."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    allow_non_restored_state: bool = False
    revoke_unknown_output: bool = False
    """Whether to revoke published output that the job log does not contain. If this option is False, a run that finds unknown
    output does not start."""
    data_ports: tuple[int, int] = (0, 0)
    control_ports: tuple[int, int] = (0, 0)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """``storage_options`` and ``spark_conf`` can contain secrets, so ``repr`` hides them."""
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    platform_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The secrets of the platform that the job may use, by name."""
    staging_dir: str | None = None
    """Directory for the staged rows of Spark queries. If None, rows are staged in the checkpoint directory, which must then be in
    a file system."""
    by_value: Iterable[ModuleType] = ()
    logs: LogSettings = field(default_factory=LogSettings)
    """Log format of the slots. The program that starts the run configures the driver's logs."""
