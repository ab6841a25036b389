"""What may be chosen about a run of a job; what the job does is its own business."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from weir.coordinator.start import Fresh, StartMode
from weir.kernel.restarts import RestartConfig
from weir.subtask.logs import LogSettings


@dataclass(frozen=True, slots=True)
class RunOptions:
    """``interval_ms`` None: no checkpoints but the final one. ``checkpoint_timeout_ms``, ``min_pause_ms`` and
    ``tolerable_failed_checkpoints``: see ``CheckpointConfig``. ``spares``: slots beyond the parallelism, kept warm.

    ``by_value``: modules whose functions are shipped whole (the job's own file), as executors do not have them.
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
    batch_rows: int = 65_536
    restarts: RestartConfig = field(default_factory=RestartConfig)
    heartbeat_timeout_ms: int = 5_000
    slots_timeout_ms: int = 60_000
    allow_non_restored_state: bool = False
    data_ports: tuple[int, int] = (0, 0)
    control_ports: tuple[int, int] = (0, 0)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """May hold secrets, and so may the next."""
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    staging_dir: str | None = None
    """Where rows of Spark queries are staged; None: beside the checkpoints, which then must be in a directory."""
    by_value: Iterable[ModuleType] = ()
    logs: LogSettings = field(default_factory=LogSettings)
    """Of the slots. How this process logs is its own business."""
