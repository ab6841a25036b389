"""One seed, one run."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import structlog

from weir.testing.sim.cluster import Cluster
from weir.testing.sim.lanes import Workers
from weir.testing.sim.scenario import DEADLINE_NS, EVENTS_MAX, Scenario, scenario
from weir.testing.sim.world import MS, Violation, World

ZOMBIES_NS = 8_000 * MS
"""How long processes of the past may linger after the job's end."""
_WORKERS = Workers()


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    violation: str | None
    events: int
    virtual_ms: int
    generations: int
    checkpoints: int
    trimmed: int
    """Entries of the log that were deleted."""
    created_late: int
    """Entries that a process created at a number that was trimmed."""


def run(seed: int, *, verbose: bool = False, scenario_of: Scenario | None = None) -> Result:
    """Deterministic: the same seed gives the same result. A violation is returned, not raised."""
    chosen = scenario_of or scenario(seed)
    world = World(seed, verbose=verbose)
    cluster = Cluster(world, chosen, _WORKERS)
    violation: str | None = None
    try:
        world.run(lambda: cluster.finished, deadline_ns=DEADLINE_NS, events_max=EVENTS_MAX)
        if not cluster.finished:
            raise Violation("nothing is left to happen, and the job has not ended")
        lingering = world.now_ns + ZOMBIES_NS
        world.run(
            lambda: not any(process.alive for process in cluster.processes), deadline_ns=lingering, events_max=2 * EVENTS_MAX
        )
        cluster.oracle.on_end()
    except Violation as found:
        violation = str(found)
    finally:
        world.on_step = None
        for process in cluster.processes:
            process.exit("the run is over")
    log = cluster.oracle.log
    return Result(
        seed,
        violation,
        world.events,
        world.now_ms,
        log.view.generation,
        log.view.highest_checkpoint,
        log.trimmed,
        log.created_late,
    )


def quiet() -> None:
    """No log lines of the code under test: faults are what a run is made of."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
