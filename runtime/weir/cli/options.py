"""Options that several commands share, and the parsing of their values: durations, sizes, counts, NAME=VALUE pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

import typer

from weir.errors import ConfigError
from weir.kernel.config import Timeouts, parse_duration_ms
from weir.protocol.events import RecoveryStrategy

_COUNT = re.compile(r"\d{1,9}")
COUNT_MAX = 1_000
_SIZE = re.compile(r"(\d{1,9})(KiB|MiB|GiB)")
_UNIT_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
NETWORK_BYTES_MIN, NETWORK_BYTES_MAX = 1 << 20, 1 << 40
NO_PAIRS: list[str] = []

# ---- a job and its checkpoints: weir run, weir deploy, weir graph -------------------------------

ParamsOption = Annotated[list[str], typer.Option("--set", metavar="NAME=VALUE", help="Set a job parameter; repeatable.")]
ParallelismOption = Annotated[int, typer.Option(min=1, help="Number of slots, and default parallelism of each operator.")]
MasterOption = Annotated[str, typer.Option(help="Spark master: local, spark://host:port, yarn, k8s://...")]
SparkConfOption = Annotated[list[str], typer.Option("--conf", metavar="NAME=VALUE", help="Set a Spark property; repeatable.")]
StagingDirOption = Annotated[
    str | None, typer.Option(help="Directory for staged rows of Spark queries, if checkpoints are in an object store.")
]
SparesOption = Annotated[int, typer.Option(min=0, help="Number of spare slots, which replace lost slots.")]
AllowNonRestoredStateOption = Annotated[
    bool, typer.Option("--allow-non-restored-state", help="Drop the state of operators that are not in the graph.")
]
RevokeUnknownOutputOption = Annotated[
    bool,
    typer.Option(
        "--revoke-unknown-output",
        help="If the sinks have published output that the job log does not contain, revoke this output instead of refusing to start.",
    ),
]
IntervalOption = Annotated[
    str, typer.Option(help="Time between checkpoints, such as 10s. none: the job takes only a final checkpoint.")
]
RetainedOption = Annotated[int, typer.Option(min=1, help="Number of completed checkpoints to retain.")]
CheckpointTimeoutOption = Annotated[str, typer.Option(help="Maximum duration of a checkpoint, such as 30s or 10m.")]
MinPauseOption = Annotated[
    str, typer.Option(help="Minimum pause between the end of a checkpoint and the next periodic checkpoint, such as 0s or 5s.")
]
TolerableFailedCheckpointsOption = Annotated[
    str,
    typer.Option(
        metavar="COUNT",
        help="Consecutive checkpoint failures that Weir tolerates. One more failure restarts the job. none: no limit.",
    ),
]
HeartbeatTimeoutOption = Annotated[str, typer.Option(help="Replace a slot that sends nothing for this time.")]
StuckTimeoutOption = Annotated[
    str, typer.Option(help="Replace a slot if one step, such as a call of a user function, exceeds this time. none: no limit.")
]
CallTimeoutOption = Annotated[
    str, typer.Option(help="Replace a slot if one blocking call of a user function exceeds this time. none: no limit.")
]
SlotsTimeoutOption = Annotated[
    str, typer.Option(help="Fail the job if its slots do not start within this time. none: wait until the job is cancelled.")
]
DeployTimeoutOption = Annotated[str, typer.Option(help="Restart the job if its deployment makes no progress for this time.")]
CancelTimeoutOption = Annotated[
    str, typer.Option(help="Before a restart, replace a slot that does not cancel its subtasks within this time.")
]
ConnectTimeoutOption = Annotated[str, typer.Option(help="Maximum time for a slot to connect to the driver or to another slot.")]
NetworkMemoryOption = Annotated[
    str, typer.Option(metavar="SIZE", help="Memory of each slot for records from other slots, such as 256MiB or 1GiB.")
]
BufferTimeoutOption = Annotated[
    str,
    typer.Option(
        metavar="DURATION",
        help="Maximum time that records wait in a buffer between two operators, such as 5ms. 0: no wait. adaptive: at most 23 to 80 ms.",
    ),
]
RecoveryOption = Annotated[
    RecoveryStrategy,
    typer.Option(
        help="full: if a slot fails, all slots restore the last checkpoint. regional: if slots exchange no records, only the failed slot "
        "restores it."
    ),
]
TIMEOUTS = {
    "heartbeat": "5s",
    "stuck": "60s",
    "call": "10m",
    "slots": "none",
    "deploy": "60s",
    "cancel": "3s",
    "connect": "60s",
}
"""The default of each timeout of a job. The option for the timeout ``x`` is ``--x-timeout``."""
_UNLIMITED = {"stuck": ("none", "0", "0s"), "call": ("none", "0", "0s"), "slots": ("none",)}
"""For each timeout that can be unlimited, the values that mean "no limit"."""
_TIMEOUT_MS_MIN = {"heartbeat": 2_000, "stuck": 1_000, "call": 1_000, "deploy": 2_000}
"""Minimum values of the timeouts whose minimum is not 1 ms. A slot sends five heartbeats in the shortest of the heartbeat, stuck and
call timeouts, and at least one per second. During a restore, a slot reports its progress once per second, and the deploy timeout must
cover the time between two reports."""
NETWORK_MEMORY = "256MiB"
BUFFER_TIMEOUT = "adaptive"
BUFFER_TIMEOUT_MS_MAX = 10_000
INTERVAL = "10s"
RETAINED = 3
CHECKPOINT_TIMEOUT = "10m"
MIN_PAUSE = "0s"
TOLERABLE_FAILED_CHECKPOINTS = "3"

# ---- commands that call a control plane ---------------------------------------------------------

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Name or id of the job.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until the operation ends, and exit with code 1 if it fails.")]
TimeoutOption = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Maximum wait, such as 90s or 10m. Default: the deadline of the operation.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
LimitOption = Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of rows, newest first.")]


def parse_timeouts(timeouts: Mapping[str, str]) -> Timeouts:
    """Parse the values of the options ``--x-timeout``, for example ``{"deploy": "5m"}``. Raises ConfigError."""
    parsed: dict[str, int | None] = {}
    for name, text in timeouts.items():
        unlimited = text.strip() in _UNLIMITED.get(name, ())
        least_ms = _TIMEOUT_MS_MIN.get(name, 1)
        parsed[f"{name}_timeout_ms"] = None if unlimited else parse_duration_ms(text, f"--{name}-timeout", least_ms=least_ms)
    return Timeouts(**parsed)  # type: ignore[arg-type]  # only the timeouts in _UNLIMITED can be None


def parse_network_memory(text: str) -> int:
    """Parse the value of ``--network-memory``. Return a number of bytes. Raises ConfigError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"--network-memory '{text}' is not a size. Write a number with KiB, MiB or GiB, for example 256MiB.")
    size = int(match[1]) * _UNIT_BYTES[match[2]]
    if not NETWORK_BYTES_MIN <= size <= NETWORK_BYTES_MAX:
        raise ConfigError(f"--network-memory '{text}' is out of range. Use a size from 1MiB to 1024GiB.")
    return size


def parse_buffer_timeout(text: str) -> float | None:
    """Parse the value of ``--buffer-timeout``. Return a number of milliseconds, or None for ``adaptive``. Raises ConfigError."""
    if text.strip() == "adaptive":
        return None
    if text.strip() == "0":
        return 0.0
    duration_ms = parse_duration_ms(text, "--buffer-timeout", least_ms=0)
    if duration_ms > BUFFER_TIMEOUT_MS_MAX:
        raise ConfigError(
            f"--buffer-timeout '{text}' is out of range. Use adaptive, or a duration from 0 to {BUFFER_TIMEOUT_MS_MAX // 1_000}s."
        )
    return duration_ms


def parse_count(text: str, option: str) -> int | None:
    """Parse a number from 0 to COUNT_MAX. Return None for ``none``, which means no limit. Raises ConfigError."""
    if text.strip() == "none":
        return None
    if _COUNT.fullmatch(text.strip()) is None or int(text) > COUNT_MAX:
        raise ConfigError(f"{option} '{text}' is not a count. Write a number from 0 to {COUNT_MAX}, or the word none (no limit).")
    return int(text)


def parse_pairs(pairs: list[str], option: str) -> dict[str, str]:
    """Parse ``NAME=VALUE`` pairs. Raises ConfigError."""
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ConfigError(f"{option} '{pair}' is not a NAME=VALUE pair.")
        values[name] = value
    return values


def timeout_s(timeout: str | None) -> float | None:
    """Parse ``--timeout``. Raises ConfigError."""
    return None if timeout is None else parse_duration_ms(timeout, "--timeout") / 1_000
