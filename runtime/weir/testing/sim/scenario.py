"""The scenario of a seed: the job, its input, its settings and the faults."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import StrEnum

from weir.graph.logical import LogicalGraph
from weir.kernel.config import NETWORK_BYTES, CheckpointConfig, RestartConfig
from weir.kernel.job import JobConfig
from weir.protocol.events import RecoveryStrategy
from weir.protocol.ids import OperatorUid
from weir.testing.sim.graphs import GraphBuilder, SourceShape, without_shuffles
from weir.testing.sim.simulation import MS
from weir.testing.sim.storage import StorageFaults

SLOTS_MAX = 4
WIDE_SLOTS = {8: 6, 16: 8, 32: 5, 64: 1}
"""The numbers of slots of wide jobs, with their weights. A run with 64 slots takes a hundred times as long as a run with few
slots."""
WIDE_TIMEOUT_MS_PER_SLOT = 30
"""Minimum timeout of a checkpoint of a wide job, per slot."""
WIDE_RATIO = 0.01
"""The share of seeds with a wide job."""
FAULTS_END_NS = 1_200 * MS
"""No fault occurs after this time, so the job must then end."""
DEADLINE_NS = 60_000 * MS
EVENTS_MAX = 120_000
"""Maximum number of events of a run. A run that needs more events counts as a job that never ends."""
WIDE_EVENTS_MAX = 4_000_000
CHECKPOINT_TIMEOUT_MS_MIN = 40
"""Minimum timeout of a checkpoint, multiplied by the slowness of the network. With a shorter timeout, nearly every checkpoint of a
job with large records would time out, so the job would not end."""
RESTORE_HANGS_NS = 3_000 * MS
"""Duration of a restore step that hangs. A hanging step is longer than the deploy timeout."""
STEPS = (
    "create",
    "put",
    "stage",
    "publish",
    "discard",
    "fence",
    "revoke",
    "reinstate",
    "delete",
    "deploy",
    "trigger",
    "acknowledge",
    "register",
    "cancel",
    "start",
)


class FaultKind(StrEnum):
    CRASH_SLOT = "crash_slot"
    PAUSE_SLOT = "pause_slot"
    CRASH_DRIVER = "crash_driver"
    PAUSE_DRIVER = "pause_driver"
    CUT_POWER = "cut_power"
    """All processes end, and storage loses the changes that are not synced."""
    CUT_CONTROL = "cut_control_connection"
    CUT_DATA = "cut_data_connection"
    HOLD = "hold_connection"
    SUSPEND = "suspend"
    CANCEL = "cancel"
    SAVEPOINT = "savepoint"
    CHECKPOINT = "checkpoint"
    """A user requests a checkpoint."""
    REPLACE_INPUT = "replace_input"
    """An input file is replaced by another version."""
    HOLD_GIL = "hold_gil"
    """One step of a slot's loop holds the GIL for a long time. The slot sends heartbeats, but its loop makes no turns."""
    HANG_CALL = "hang_call"
    """The next blocking call of a slot never ends."""
    TAKE_OUTPUT = "take_output"
    """A consumer takes published output."""
    PUT_BACK_LOG = "put_back_log"
    """All processes end, and an older backup replaces the checkpoint directory."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that occurs at ``at_ns``, or after the ``count``-th step of kind ``step``."""

    kind: FaultKind
    duration_ns: int
    at_ns: int | None = None
    step: str | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int
    logical: LogicalGraph
    sources: dict[OperatorUid, SourceShape]
    slots: int
    rows_max: int
    row_bytes: int
    held_max: int
    network_bytes: int
    """Network memory of a slot."""
    buffer_timeout_ms: float | None
    config: JobConfig
    tick_ns: int
    storage: StorageFaults
    faults: tuple[Fault, ...]
    slowness: float
    """Factor for network delays."""
    serialise_messages: bool
    """Whether control messages are encoded and decoded, instead of passed as objects."""
    rescales: bool
    rolls_back: bool
    """Whether some restarts restore an older checkpoint."""
    retained: int
    summary_every: int
    """Number of log entries between summaries. ``summary_every`` is small, because a run of the simulator is short."""
    restore_step_ns: int = 0
    """Duration of one step of a restore. A restore has several steps for each file. So the whole restore can exceed the deploy
    timeout, although each step is shorter than this timeout."""
    slots_max: int = SLOTS_MAX
    """Maximum number of slots after a change of the parallelism."""
    events_max: int = EVENTS_MAX
    restore_hangs_at: int = 0
    """Number of the restore step that takes RESTORE_HANGS_NS, counted over all restores of the run. 0: no step."""


def make_scenario(seed: int, *, wide: bool | None = None) -> Scenario:
    """``wide``: whether the job is wide. None: the seed decides."""
    rng = random.Random(f"scenario {seed}")
    slots = rng.choice((1, 2, 2, 3, 3, 4))
    # Use separate random numbers, so that the other seeds stay the same.
    width = random.Random(f"width {seed}")
    is_wide = width.random() < WIDE_RATIO if wide is None else wide
    if is_wide:
        slots = width.choices(tuple(WIDE_SLOTS), tuple(WIDE_SLOTS.values()))[0]
    maker = GraphBuilder(rng, slots)
    logical = maker.make()
    calm = rng.random() < 0.1
    bad_storage = not calm and rng.random() < 0.4
    worst = rng.choice((0.01, 0.05, 0.12))
    storage = StorageFaults(
        fails=rng.random() * worst,
        tears_objects=rng.random() * worst,
        loses_answers=rng.random() * worst,
        reads_fail=rng.random() * worst / 4,
        syncs_fail=rng.random() * worst,
    )
    faults = () if calm else tuple(_fault(rng) for _ in range(rng.choice((1, 1, 2, 3, 5))))
    if faults and rng.random() < 0.2:
        faults = (*faults, _long_pause(rng))
    rolls_back = rng.random() < 0.15
    if faults and rolls_back:
        faults = (*faults, *_rollback_faults(rng))
    bad_disk = bool(faults) and rng.random() < 0.15
    if bad_disk:
        storage = replace(storage if bad_storage else StorageFaults(), syncs_fail=rng.choice((0.1, 0.3)))
        faults = (*faults, *_power_cuts(rng))
    # Use separate random numbers, so that all other faults of a seed stay the same.
    separate = random.Random(f"input {seed}")
    if faults and separate.random() < 0.2:
        faults = (*faults, Fault(FaultKind.REPLACE_INPUT, 0, at_ns=_early(separate)))
    separate = random.Random(f"output {seed}")
    if faults and separate.random() < 0.2:
        takes = (Fault(FaultKind.TAKE_OUTPUT, 0, at_ns=_early(separate)) for _ in range(separate.randint(1, 5)))
        faults = (*faults, *takes)
    if faults and separate.random() < 0.2:
        faults = (*faults, Fault(FaultKind.PUT_BACK_LOG, 0, step="publish", count=separate.randint(1, 4)))
    separate = random.Random(f"follow {seed}")
    sources = maker.sources
    if separate.random() < 0.3:
        sources = {uid: _followed(separate, shape) if separate.random() < 0.7 else shape for uid, shape in sources.items()}
        if faults:
            faults = (*faults, *(_fault_around_a_discovery(separate) for _ in range(separate.choice((1, 2, 3)))))
    restores = random.Random(f"restore {seed}")
    slow_restores = restores.random() < 0.15
    if faults and restores.random() < 0.3:
        faults = (*faults, _fault_during_a_restore(restores))
    scenario = Scenario(
        seed=seed,
        logical=logical,
        sources=sources,
        slots=slots,
        rows_max=rng.choice((1, 3, 6)),
        row_bytes=rng.choice((1_000, 300_000, 900_000, 1_500_000, 5_000_000)),
        held_max=rng.choice((0, 1, 4)),
        network_bytes=random.Random(f"network {seed}").choice((0, 1_000_000, 5_000_000, NETWORK_BYTES, NETWORK_BYTES)),
        buffer_timeout_ms=random.Random(f"buffers {seed}").choice((0, 0, 1, 5, 25, None)),
        config=_config(rng, often=rolls_back),
        tick_ns=rng.choice((5, 10, 20)) * MS,
        storage=storage if bad_storage or bad_disk else StorageFaults(),
        faults=faults,
        slowness=rng.choice((0.5, 1.0, 1.0, 3.0)),
        serialise_messages=rng.random() < 0.04,
        rescales=rng.random() < 0.4,
        rolls_back=rolls_back,
        retained=3 if rolls_back else rng.choice((1, 2, 3)),
        summary_every=rng.choice((1, 1, 1, 1, 2, 2, 3, 6)),
        restore_step_ns=restores.choice((100, 250)) * MS if slow_restores else 0,
        restore_hangs_at=restores.randint(1, 20) if restores.random() < 0.15 else 0,
    )
    if is_wide:
        scenario = _with_wide_limits(scenario)
    separate = random.Random(f"recovery {seed}")
    if separate.random() < 0.15:
        scenario = replace(scenario, logical=without_shuffles(logical))
    if separate.random() < 0.2:
        scenario = replace(scenario, config=replace(scenario.config, recovery=RecoveryStrategy.FULL))
    scenario = _with_feasible_checkpoints(scenario)
    separate = random.Random(f"stalls {seed}")
    return _with_stalls(separate, scenario) if faults and separate.random() < 0.3 else scenario


def _config(rng: random.Random, *, often: bool) -> JobConfig:
    """``often``: frequent checkpoints, so that a rollback has checkpoints to restore."""
    periodic = rng.random() < 0.85 or often
    return JobConfig(
        stuck_timeout_ms=None,
        call_timeout_ms=None,
        checkpoints=CheckpointConfig(
            interval_ms=rng.choice((10,) if often else (10, 25, 60)) if periodic else None,
            timeout_ms=rng.choice((60, 120, 400)),
            min_pause_ms=rng.choice((0, 0, 10)),
            tolerable_failed_checkpoints=rng.choice((0, 2, 5)),
        ),
        restarts=RestartConfig(attempts_max=10, initial_delay_ms=5, delay_max_ms=100),
        heartbeat_timeout_ms=rng.choice((150, 250)),
        lease_ms=rng.choice((200, 400)),
        slots_timeout_ms=5_000,
        deploy_timeout_ms=800,
        cancel_timeout_ms=rng.choice((60, 120)),
        commit_attempts_max=5,
        log_attempts_max=4,
        storage_retry_ms=5,
    )


def _with_wide_limits(scenario: Scenario) -> Scenario:
    """Give a wide job more time and more events. A subtask handles the barrier of each upstream subtask in a separate step."""
    checkpoints = scenario.config.checkpoints
    checkpoints = replace(checkpoints, timeout_ms=max(checkpoints.timeout_ms, WIDE_TIMEOUT_MS_PER_SLOT * scenario.slots))
    config = replace(scenario.config, checkpoints=checkpoints)
    return replace(scenario, config=config, slots_max=scenario.slots, events_max=WIDE_EVENTS_MAX)


def _with_feasible_checkpoints(scenario: Scenario) -> Scenario:
    checkpoints = scenario.config.checkpoints
    timeout_ms = max(checkpoints.timeout_ms, int(CHECKPOINT_TIMEOUT_MS_MIN * scenario.slowness))
    return replace(scenario, config=replace(scenario.config, checkpoints=replace(checkpoints, timeout_ms=timeout_ms)))


def _fault(rng: random.Random) -> Fault:
    # The kinds with weight 0 are never drawn here, because ``make_scenario`` adds faults of these kinds separately.
    kind = rng.choices(tuple(FaultKind), weights=(5, 4, 3, 5, 1, 2, 2, 1, 2, 1, 2, 2, 0, 0, 0, 0, 0))[0]
    duration_ns = rng.choice((5, 30, 120, 350, 900)) * MS
    if rng.random() < 0.5:
        return Fault(kind, duration_ns, at_ns=_early(rng))
    return Fault(kind, duration_ns, step=rng.choice(STEPS), count=int(1 + rng.random() ** 2 * 25))


def _fault_during_a_restore(rng: random.Random) -> Fault:
    kinds = (FaultKind.CRASH_SLOT, FaultKind.PAUSE_SLOT, FaultKind.CRASH_DRIVER, FaultKind.CUT_CONTROL, FaultKind.CUT_DATA)
    return Fault(rng.choice(kinds), rng.choice((30, 350)) * MS, step="restore", count=rng.randint(1, 30))


def _followed(rng: random.Random, shape: SourceShape) -> SourceShape:
    """Return a source whose splits appear while the job runs."""
    lengths = tuple(rng.choice((0, 1, 4, 8)) for _ in range(rng.randint(2, 8)))
    appears_ns = sorted(_early(rng) if rng.random() < 0.8 else 0 for _ in lengths)
    return replace(shape, lengths=lengths, appears_ns=tuple(appears_ns), discover_every_ms=rng.choice((5, 20, 60)))


def _fault_around_a_discovery(rng: random.Random) -> Fault:
    kind = rng.choice(
        (FaultKind.CRASH_SLOT, FaultKind.CRASH_DRIVER, FaultKind.PAUSE_DRIVER, FaultKind.SUSPEND, FaultKind.CHECKPOINT)
    )
    return Fault(kind, rng.choice((30, 350)) * MS, step="discover", count=rng.randint(1, 20))


def _with_stalls(rng: random.Random, scenario: Scenario) -> Scenario:
    """Add blocking calls that never end, and long steps. About half of the long steps are longer than the stuck timeout."""
    faults = list(scenario.faults)
    for _ in range(rng.choice((1, 1, 2))):
        kind = rng.choice((FaultKind.HANG_CALL, FaultKind.HOLD_GIL))
        step, count = rng.choice(("deploy", "trigger", "trigger", "acknowledge")), rng.randint(1, 4)
        faults.append(Fault(kind, rng.choice((260, 290, 5_000, 5_000)) * MS, step=step, count=count))
    # With a short checkpoint timeout, failed checkpoints often cause a failover before the stuck timeout or the call timeout ends.
    checkpoints = scenario.config.checkpoints
    checkpoints = replace(checkpoints, timeout_ms=rng.choice((checkpoints.timeout_ms, 1_500)))
    config = replace(
        scenario.config,
        checkpoints=checkpoints,
        stuck_timeout_ms=rng.choice((320, 500)),
        call_timeout_ms=rng.choice((300, 700)),
    )
    return replace(scenario, faults=tuple(faults), config=config)


def _early(rng: random.Random) -> int:
    return int(rng.random() ** 2 * 600 * MS)


def _long_pause(rng: random.Random) -> Fault:
    """A pause during a checkpoint, long enough for a successor to complete checkpoints and trim the log."""
    return Fault(FaultKind.PAUSE_DRIVER, rng.choice((900, 1_800)) * MS, step="acknowledge", count=rng.randint(1, 12))


def _power_cuts(rng: random.Random) -> tuple[Fault, ...]:
    """Power cuts during the creation of a log entry, and after steps that depend on a log entry."""
    steps = ("create", "publish", "deploy", "delete")
    return tuple(
        Fault(FaultKind.CUT_POWER, 0, step=rng.choice(steps), count=rng.randint(1, 15)) for _ in range(rng.randint(1, 3))
    )


def _rollback_faults(rng: random.Random) -> tuple[Fault, ...]:
    """Crashes and pauses of drivers. A driver crashes after some checkpoints, so that a rollback abandons checkpoints. A driver
    pauses during a revocation or reinstatement, long enough for a successor to roll back and publish output."""
    crashes = [Fault(FaultKind.CRASH_DRIVER, 0, step="publish", count=rng.randint(3, 30)) for _ in range(rng.randint(1, 4))]
    pauses = [
        Fault(FaultKind.PAUSE_DRIVER, rng.choice((350, 900)) * MS, step=step, count=rng.choice((1, 1, 1, 2, 3)))
        for step in rng.sample(("fence", "revoke", "reinstate"), 2)
    ]
    return (*crashes, *pauses)
