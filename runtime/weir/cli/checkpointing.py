"""How checkpoints are taken: the options of ``weir run`` and ``weir deploy`` for it, which say the same of both."""

from __future__ import annotations

from typing import Annotated

import typer

Interval = Annotated[str, typer.Option(help="Between checkpoints: 500ms, 10s, 1m; 'none': only a final one")]
Retained = Annotated[int, typer.Option(min=1, help="How many completed checkpoints are kept")]
CheckpointTimeout = Annotated[str, typer.Option(help="A checkpoint that takes longer has failed: 30s, 10m")]
MinPause = Annotated[
    str, typer.Option(help="From the end of a checkpoint to the beginning of the next at least: 0s, 5s; not if one is asked for")
]
TolerableFailedCheckpoints = Annotated[
    str,
    typer.Option(
        metavar="COUNT", help="So many may fail in a row; after one more the job recovers as from a failure; 'none': any number"
    ),
]
INTERVAL = "10s"
RETAINED = 3
CHECKPOINT_TIMEOUT = "10m"
MIN_PAUSE = "0s"
TOLERABLE_FAILED_CHECKPOINTS = "3"
