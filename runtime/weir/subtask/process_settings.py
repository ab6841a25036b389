"""What the driver tells every slot process in its bootstrap, beside address and secret."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.subtask.logs import LogSettings


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """``run`` names this run of the coordinator: a slot of another run is not let in."""

    run: int
    storage_url: str
    storage_options: dict[str, str] = field(default_factory=dict, repr=False)
    batch_rows: int = 65_536
    logs: LogSettings = field(default_factory=LogSettings)
