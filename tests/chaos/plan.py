"""What happens in a chaos run: all of it is drawn from one seed."""

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


NEW_DRIVER = frozenset(
    {
        FaultKind.DRIVER_KILL,
        FaultKind.JVM_KILL,
        FaultKind.DRIVER_PAUSE_TAKEOVER,
        FaultKind.TAKEOVER,
        FaultKind.SUSPEND,
    }
)
"""After these another driver process goes on with ``--resume``."""


class Moment(StrEnum):
    """What is waited for before a fault's delay begins."""

    START = "start"
    """Nothing: the driver may still be starting."""
    RUNNING = "running"
    """A checkpoint that was completed by the driver of the moment, after the last fault."""
    CHECKPOINT = "checkpoint"
    """A checkpoint being triggered."""
    RECOVERY = "recovery"
    """The recovery from the fault before; from a driver's death: the generation that its successor starts."""
    END = "end"
    """The input's rest being let through at full speed."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: FaultKind
    moment: Moment
    delay_ms: int
    pause_ms: int = 0
    """Of those that pause somebody."""
    luck: float = 0.0
    """0 to 1: which of several possible victims."""
    with_jvm: bool = False
    """A driver's pause stops its JVM, too."""

    def __str__(self) -> str:
        pause = f" for {self.pause_ms / 1000:.1f} s" if self.pause_ms else ""
        return f"{self.kind}{pause} at {self.moment}+{self.delay_ms} ms"


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    standalone: bool
    parallelisms: tuple[int, ...]
    """Slots of the first driver, of the one that follows it, and so on; the last one counts for all later ones."""
    spares: int
    interval_ms: int
    input: str
    keys: int
    groups: int
    text_keys: bool
    files: int
    rows_per_second: float
    """Of each slot that reads files, until the input is released."""
    beside: bool
    """The pacing function runs beside the loop."""
    generated: int
    """Rows of the generator."""
    rate: float
    """Of the generator, rows a second."""
    rows_per_file: int
    """Of the sinks."""
    faults: tuple[Fault, ...]

    def parallelism(self, driver: int) -> int:
        """``driver`` counts from 0."""
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
}
_STANDALONE_ODDS = _LOCAL_ODDS | {FaultKind.EXECUTOR_KILL: 30, FaultKind.EXECUTOR_PAUSE: 8}
_DELAYS_MS = {
    Moment.START: 6_000,
    Moment.RUNNING: 1_500,
    Moment.CHECKPOINT: 200,
    Moment.RECOVERY: 500,
    Moment.END: 600,
}
"""At most; short ones are more likely."""
_FILE_ROWS = {"parquet": (600, 2_400), "json_lines": (60, 300), "mixed": (60, 300), "generator": (0, 0)}
PACED_S = 25.0
"""How long the files' rows last if they are never released."""


def file_rows(kind: str) -> tuple[int, int]:
    """(fewest, most) rows of an input file."""
    return _FILE_ROWS["json_lines" if kind == "mixed" else kind]


def make_plan(seed: int, *, standalone_share: float) -> Plan:
    luck = Random(seed)
    standalone = luck.random() < standalone_share
    first = luck.choice((2, 2, 3, 4))
    rescaled = luck.random() < 0.3
    kind = luck.choices(("parquet", "json_lines", "mixed", "generator"), (25, 40, 20, 15))[0]
    rows_per_second = luck.uniform(500, 1_500)
    mean_rows = sum(file_rows(kind)) / 2
    return Plan(
        seed=seed,
        standalone=standalone,
        parallelisms=(first, luck.choice((2, 3, 4))) if rescaled else (first,),
        spares=luck.choice((0, 0, 0, 1)),
        interval_ms=luck.choice((100, 150, 200, 300, 500)),
        input=kind,
        keys=luck.choice((1, 7, 50, 400)),
        groups=luck.choice((1, 3, 20)),
        text_keys=luck.random() < 0.3,
        files=0 if kind == "generator" else max(4, int(rows_per_second * first * PACED_S / mean_rows)),
        rows_per_second=rows_per_second,
        beside=luck.random() < 0.8,
        generated=luck.randrange(20_000, 50_000) if kind in ("generator", "mixed") else 0,
        rate=4_000.0,
        rows_per_file=luck.choice((50, 1_000, 1_000_000)),
        faults=_faults(luck, standalone=standalone),
    )


def _faults(luck: Random, *, standalone: bool) -> tuple[Fault, ...]:
    odds = _STANDALONE_ODDS if standalone else _LOCAL_ODDS
    count = luck.choices((1, 2, 3, 4), (30, 35, 22, 13))[0]
    faults: list[Fault] = []
    for position in range(count):
        kind = luck.choices(list(odds), list(odds.values()))[0]
        moments = {
            Moment.RUNNING: 30,
            Moment.CHECKPOINT: 35,
            Moment.RECOVERY: 30 if faults and _is_recovered_from(faults[-1]) else 0,
            Moment.START: 0 if position else 8,
            Moment.END: 12 if position == count - 1 else 0,
        }
        moment = luck.choices(list(moments), list(moments.values()))[0]
        if kind is FaultKind.SUSPEND and moment is Moment.START:
            # Before the job runs nobody listens to the signal yet: an ordinary end by SIGTERM.
            moment = Moment.RUNNING
        faults.append(
            Fault(
                kind=kind,
                moment=moment,
                delay_ms=int(_DELAYS_MS[moment] * luck.random() ** 2),
                pause_ms=_pause_ms(luck, kind),
                luck=luck.random(),
                with_jvm=luck.random() < 0.3,
            )
        )
    return tuple(faults)


def _is_recovered_from(fault: Fault) -> bool:
    """Whether a recovery, or another driver's start, follows. A short pause does no harm."""
    return not fault.pause_ms or fault.kind in NEW_DRIVER or (fault.kind is FaultKind.WORKER_PAUSE and fault.pause_ms > 6_000)


def _pause_ms(luck: Random, kind: FaultKind) -> int:
    match kind:
        case FaultKind.WORKER_PAUSE:
            return luck.randrange(1_000, 8_000)
        case FaultKind.EXECUTOR_PAUSE:
            return luck.randrange(1_000, 13_000)
        case FaultKind.DRIVER_PAUSE:
            return luck.randrange(500, 8_000)
        case FaultKind.DRIVER_PAUSE_TAKEOVER:
            return luck.randrange(500, 12_000)
        case _:
            return 0
