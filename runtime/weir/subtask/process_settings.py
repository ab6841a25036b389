"""What the driver tells every slot process in its bootstrap, beside address and secret."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """``run`` names this run of the coordinator: a slot of another run is not let in. ``tracking`` False: no checkpoints
    are taken but the final one, so state need not be able to snapshot without stopping."""

    run: int
    storage_url: str
    storage_options: dict[str, str] = field(default_factory=dict)
    batch_rows: int = 65_536
    tracking: bool = True
