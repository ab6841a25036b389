"""The plan of a chaos run, which is computed from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random


class FaultKind(StrEnum):
    WORKER_KILL = "worker kill"
    WORKERS_KILL = "two workers kill"
    WORKER_PAUSE = "worker pause"
    EXECUTOR_KILL = "executor kill"
    EXECUTOR_PAUSE = "executor pause"
    DRIVER_KILL = "driver kill"
    JVM_KILL = "driver's JVM kill"
    DRIVER_PAUSE = "driver pause"
    DRIVER_PAUSE_TAKEOVER = "driver pause, takeover"
    TAKEOVER = "takeover of a live driver"
    SUSPEND = "SIGTERM"
    TAKE_OUTPUT = "consumer takes output"
    PUT_BACK = "older checkpoint directory restored"
    """The driver is killed, and a backup from ``pause_ms`` before the kill replaces the checkpoint directory."""


NEW_DRIVER = frozenset(
    {
        FaultKind.DRIVER_KILL,
        FaultKind.JVM_KILL,
        FaultKind.DRIVER_PAUSE_TAKEOVER,
        FaultKind.TAKEOVER,
        FaultKind.SUSPEND,
        FaultKind.PUT_BACK,
    }
)
"""Faults after which another driver starts with ``--resume``."""


class Moment(StrEnum):
    """The moment at which a fault's delay starts."""

    START = "start"
    """Immediately. The driver is possibly still starting."""
    RUNNING = "running"
    """The current driver completes its first checkpoint after the previous fault."""
    CHECKPOINT = "checkpoint"
    """A checkpoint is triggered."""
    RECOVERY = "recovery"
    """The recovery from the previous fault starts. If the previous fault ended the driver, the recovery starts when the next driver
    starts a generation."""
    END = "end"
    """The job starts to read the rest of its input at full speed."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: FaultKind
    moment: Moment
    delay_ms: int
    pause_ms: int = 0
    """Duration of the pause, or age of the backup. Faults without a pause or a backup have the value 0."""
    target: float = 0.0
    """A number from 0 to 1, which selects the target process. For ``TAKE_OUTPUT``, the number is the share
    of the published files that a consumer removes."""
    with_jvm: bool = False
    """Whether a pause of the driver also pauses its JVM."""

    def __str__(self) -> str:
        pause = f" for {self.pause_ms / 1000:.1f} s" if self.pause_ms else ""
        return f"{self.kind}{pause} at {self.moment}+{self.delay_ms} ms"


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    seed: int
    standalone: bool
    parallelisms: tuple[int, ...]
    """The number of slots of each driver. If the run has more drivers than this tuple has entries, the last entry applies to the
    remaining drivers."""
    spares: int
    interval_ms: int
    input: str
    keys: int
    groups: int
    text_keys: bool
    files: int
    rows_per_second: float
    """Rows per second that each slot reads from files, until the rest of the input is read at full speed."""
    blocking: bool
    """Whether the function that limits the throughput runs on the background executor."""
    generated: int
    """Rows of the generator."""
    rate: float
    """Rows per second of the generator."""
    rows_per_file: int
    """The option ``rows_per_file`` of the sinks."""
    faults: tuple[Fault, ...]

    def parallelism(self, driver: int) -> int:
        """Return the number of slots of a driver. ``driver`` counts from 0."""
        return self.parallelisms[min(driver, len(self.parallelisms) - 1)]


_LOCAL_ODDS = {
    FaultKind.WORKER_KILL: 26,
    FaultKind.WORKERS_KILL: 6,
    FaultKind.WORKER_PAUSE: 22,
    FaultKind.DRIVER_KILL: 14,
    FaultKind.JVM_KILL: 5,
    FaultKind.DRIVER_PAUSE: 6,
    FaultKind.DRIVER_PAUSE_TAKEOVER: 12,
    FaultKind.TAKEOVER: 5,
    FaultKind.SUSPEND: 4,
    FaultKind.TAKE_OUTPUT: 14,
    FaultKind.PUT_BACK: 6,
}
_STANDALONE_ODDS = _LOCAL_ODDS | {FaultKind.EXECUTOR_KILL: 30, FaultKind.EXECUTOR_PAUSE: 8}
_DELAYS_MS = {
    Moment.START: 6_000,
    Moment.RUNNING: 1_500,
    Moment.CHECKPOINT: 200,
    Moment.RECOVERY: 500,
    Moment.END: 600,
}
"""Maximum delays. Short delays are more likely."""
_FILE_ROWS = {"parquet": (600, 2_400), "json_lines": (60, 300), "mixed": (60, 300), "generator": (0, 0)}
PACED_S = 25.0
"""The time in which a job reads all files if its throughput remains limited until the end."""


def file_rows(kind: str) -> tuple[int, int]:
    """Return the minimum and maximum numbers of rows of an input file."""
    return _FILE_ROWS["json_lines" if kind == "mixed" else kind]


def make_plan(seed: int, *, standalone_share: float) -> ChaosPlan:
    rng = Random(seed)
    standalone = rng.random() < standalone_share
    first = rng.choice((2, 2, 3, 4))
    rescaled = rng.random() < 0.3
    kind = rng.choices(("parquet", "json_lines", "mixed", "generator"), (25, 40, 20, 15))[0]
    rows_per_second = rng.uniform(500, 1_500)
    mean_rows = sum(file_rows(kind)) / 2
    return ChaosPlan(
        seed=seed,
        standalone=standalone,
        parallelisms=(first, rng.choice((2, 3, 4))) if rescaled else (first,),
        spares=rng.choice((0, 0, 0, 1)),
        interval_ms=rng.choice((100, 150, 200, 300, 500)),
        input=kind,
        keys=rng.choice((1, 7, 50, 400)),
        groups=rng.choice((1, 3, 20)),
        text_keys=rng.random() < 0.3,
        files=0 if kind == "generator" else max(4, int(rows_per_second * first * PACED_S / mean_rows)),
        rows_per_second=rows_per_second,
        blocking=rng.random() < 0.8,
        generated=rng.randrange(20_000, 50_000) if kind in ("generator", "mixed") else 0,
        rate=4_000.0,
        rows_per_file=rng.choice((50, 1_000, 1_000_000)),
        faults=_faults(rng, standalone=standalone),
    )


def _faults(rng: Random, *, standalone: bool) -> tuple[Fault, ...]:
    odds = _STANDALONE_ODDS if standalone else _LOCAL_ODDS
    count = rng.choices((1, 2, 3, 4), (30, 35, 22, 13))[0]
    faults: list[Fault] = []
    for position in range(count):
        kind = rng.choices(list(odds), list(odds.values()))[0]
        moments = {
            Moment.RUNNING: 30,
            Moment.CHECKPOINT: 35,
            Moment.RECOVERY: 30 if faults and _is_recovered_from(faults[-1]) else 0,
            Moment.START: 0 if position else 8,
            Moment.END: 12 if position == count - 1 else 0,
        }
        moment = rng.choices(list(moments), list(moments.values()))[0]
        if kind in (FaultKind.SUSPEND, FaultKind.PUT_BACK) and moment is Moment.START:
            # Before the job runs, the driver has no handler for SIGTERM, so the signal would end the driver without a
            # checkpoint. A backup that is made before the job runs contains no checkpoint.
            moment = Moment.RUNNING
        faults.append(
            Fault(
                kind=kind,
                moment=moment,
                delay_ms=int(_DELAYS_MS[moment] * rng.random() ** 2),
                pause_ms=_pause_ms(rng, kind),
                target=rng.random(),
                with_jvm=rng.random() < 0.3,
            )
        )
    return tuple(faults)


def _is_recovered_from(fault: Fault) -> bool:
    """Return whether the fault causes a recovery or a start of another driver. After a short pause or the removal
    of output, the same driver continues without a recovery."""
    if fault.kind is FaultKind.TAKE_OUTPUT:
        return False
    return not fault.pause_ms or fault.kind in NEW_DRIVER or (fault.kind is FaultKind.WORKER_PAUSE and fault.pause_ms > 6_000)


def _pause_ms(rng: Random, kind: FaultKind) -> int:
    match kind:
        case FaultKind.WORKER_PAUSE:
            return rng.randrange(1_000, 8_000)
        case FaultKind.EXECUTOR_PAUSE:
            return rng.randrange(1_000, 13_000)
        case FaultKind.DRIVER_PAUSE:
            return rng.randrange(500, 8_000)
        case FaultKind.DRIVER_PAUSE_TAKEOVER:
            return rng.randrange(500, 12_000)
        case FaultKind.PUT_BACK:
            return rng.randrange(200, 3_000)
        case _:
            return 0
