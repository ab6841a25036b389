"""How many events a second the control plane takes in: batches as drivers send them, decoded, folded and written to a real Postgres.

``python bench/platform_ingest.py --batches 200 --events 500``: one line for each size of batch, at the end the slowest rate. Without
HTTP, which costs less than a millisecond a batch.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from weir.protocol.events import (
    AcknowledgedStatistics,
    CheckpointCompleted,
    CheckpointTriggered,
    Event,
    MetricsSampled,
    NumberedEvent,
    SubtaskAcknowledged,
    encode_batch,
    encode_event,
)
from weir.protocol.ids import CheckpointId, EventNumber, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.snapshots import SubtaskStatistics
from weir_backend import migrate
from weir_backend.kit.access import digest
from weir_backend.kit.database import Database
from weir_backend.link import service
from weir_backend.models import Artifact, ArtifactKind, DesiredState, Job, Run, RunState, Spec, SpecState
from weir_workers.embedded.throwaway import throwaway_postgres

CHAINS, SLOTS = 3, 8
"""24 subtasks."""
SAMPLES_A_CHECKPOINT = 40


class NoTasks:
    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        """Workers are not what is measured."""


def history() -> Iterator[Event]:
    """Endless: samples of all slots, and checkpoints with all their acknowledgements and statistics."""
    number = 0
    while True:
        number += 1
        yield CheckpointTriggered(CheckpointId(number), Generation(1), "periodic", CHAINS * SLOTS)
        for place in range(SAMPLES_A_CHECKPOINT):
            yield MetricsSampled(_sample(place % SLOTS, number))
        subtasks = [SubtaskId(chain, index) for chain in range(CHAINS) for index in range(SLOTS)]
        for subtask in subtasks:
            yield SubtaskAcknowledged(CheckpointId(number), subtask, 12)
        statistics = SubtaskStatistics(812, 640, 12, 33.125, 4.5, 1.25, 1 << 20, 0.75, 0.125)
        yield CheckpointCompleted(
            CheckpointId(number), Generation(1), "periodic", 48, 24 << 20,
            tuple(AcknowledgedStatistics(subtask, statistics) for subtask in subtasks),
        )  # fmt: skip


def _sample(slot: int, number: int) -> SlotMetrics:
    counted = tuple(
        SubtaskMetrics(chain, slot, number * 1000, number * 900, number * 64_000, number * 32_000, 400, 300, 250, 50)
        for chain in range(CHAINS)
    )
    return SlotMetrics(Generation(1), SlotIndex(slot), 300 << 20, 700, counted, {"counts.keys": number})


def bodies(batches: int, size: int) -> list[tuple[int, bytes]]:
    """First number and body of each. Made beforehand: the drivers' work is not measured."""
    events = history()
    made, number = [], 1
    for _ in range(batches):
        batch = [
            encode_event(NumberedEvent(EventNumber(number + place), 1_790_000_000_000, next(events))) for place in range(size)
        ]
        made.append((number, encode_batch(batch)))
        number += size
    return made


def new_run(database: Database, name: str) -> tuple[int, str]:
    with database.session() as session:
        job = Job(name=name, desired_state=DesiredState.RUNNING, spec_number=1, run_number=1)
        artifact = Artifact(digest=name.rjust(64, "0"), kind=ArtifactKind.PYTHON, name="job.py", size=1)
        session.add_all([job, artifact])
        session.flush()
        spec = Spec(job_id=job.id, number=1, artifact_id=artifact.id, body={}, state=SpecState.VALID)
        session.add(spec)
        session.flush()
        run = Run(
            job_id=job.id, number=1, spec_id=spec.id, state=RunState.CREATED, start={"mode": "fresh"}, token_digest=digest(name)
        )
        session.add(run)
        session.flush()
        return run.id, name


def measure(database: Database, *, batches: int, size: int, drivers: int, name: str) -> float:
    """Events a second."""
    sent = bodies(batches, size)
    runs = [new_run(database, f"{name}-{number}") for number in range(drivers)]

    def drive(run_id: int, token: str) -> None:
        for first, body in sent:
            with database.session() as session:
                service.take_in(session, NoTasks(), run_id, token, first=first, oldest=first, body=body)

    threads = [threading.Thread(target=drive, args=run) for run in runs]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return drivers * batches * size / (time.perf_counter() - began)


@contextmanager
def own_database() -> Iterator[Database]:
    with throwaway_postgres() as server:
        database = Database(server.url.replace("postgresql://", "postgresql+psycopg://"), pool_size=10, name="weir bench")
        migrate.upgrade(database.engine)
        yield database
        database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--batches", type=int, default=100, help="of each size")
    parser.add_argument("--events", type=int, nargs="+", default=[100, 300, 1000], help="sizes of batches")
    parser.add_argument("--drivers", type=int, default=1, help="that send at the same time, each for a job of its own")
    wanted = parser.parse_args()
    rates = []
    with own_database() as database:
        measure(database, batches=5, size=100, drivers=1, name="warm")
        for size in wanted.events:
            rate = measure(database, batches=wanted.batches, size=size, drivers=wanted.drivers, name=f"size-{size}")
            rates.append(rate)
            print(f"{size:6,d} events a batch, {wanted.drivers} at once: {rate:10,.0f} events/s", flush=True)
    print(f"slowest: {min(rates):,.0f} events/s")


if __name__ == "__main__":
    main()
