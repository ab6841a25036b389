"""Runs the simulator with one seed."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import structlog

from weir.testing.sim.cluster import Cluster
from weir.testing.sim.scenario import DEADLINE_NS, Scenario, make_scenario
from weir.testing.sim.simulation import MS, Simulation, Violation
from weir.testing.sim.threads import Threads

ZOMBIE_TIMEOUT_NS = 8_000 * MS
"""How long processes of older generations are allowed to run after the end of the job."""
_THREADS = Threads()


@dataclass(frozen=True, slots=True)
class RunResult:
    seed: int
    violation: str | None
    events: int
    virtual_ms: int
    generations: int
    checkpoints: int
    trimmed: int
    """Number of deleted log entries."""
    replaced: int
    """Number of slots that were replaced while the other slots continued."""
    created_late: int
    """Number of late log entries. An entry is late if another entry with the same number was already trimmed."""


def run(seed: int, *, verbose: bool = False, wide: bool | None = None, scenario: Scenario | None = None) -> RunResult:
    """Run one seed. The result is deterministic. A violation is returned, not raised. ``wide``: see ``make_scenario``."""
    chosen = scenario or make_scenario(seed, wide=wide)
    simulation = Simulation(seed, verbose=verbose)
    cluster = Cluster(simulation, chosen, _THREADS)
    violation: str | None = None
    try:
        simulation.run(lambda: cluster.finished, deadline_ns=DEADLINE_NS, events_max=chosen.events_max)
        if not cluster.finished:
            raise Violation("the event queue is empty, and the job has not ended")
        zombies_end_ns = simulation.now_ns + ZOMBIE_TIMEOUT_NS
        simulation.run(
            lambda: not any(process.alive for process in cluster.processes),
            deadline_ns=zombies_end_ns,
            events_max=2 * chosen.events_max,
        )
        cluster.checker.on_end()
    except Violation as error:
        violation = str(error)
    finally:
        simulation.on_step = None
        for process in cluster.processes:
            process.exit("the run is over")
    log = cluster.checker.log
    return RunResult(
        seed,
        violation,
        simulation.events,
        simulation.now_ms,
        log.view.generation,
        log.view.highest_checkpoint,
        log.trimmed,
        cluster.checker.replaced,
        log.created_late,
    )


def silence_logs() -> None:
    """Turn off the logging of the code under test, which would report every injected fault."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
