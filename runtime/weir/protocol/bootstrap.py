"""What a slot is born with: how to reach the coordinator, and the code of the job. Plain data.

It reaches the slot inside the closure of its Spark task, that is through Spark's authenticated and
encrypted channel from the driver, and never through a socket of our own. That is why the pickled code
may be in here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.protocol.snapshots import JsonValue


@dataclass(frozen=True, slots=True)
class SlotBootstrap:
    """The same for all slots of a job; survives restarts of slots and new generations."""

    job: str
    host: str
    """Where the coordinator listens, as slots see it."""
    port: int
    secret: bytes = field(repr=False)
    """Of this run of the job. Never logged, never sent; peers prove by HMAC that they know it."""
    code: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Reference of the logical graph -> the pickled function (``pickle.loads`` in the slot)."""
    data_ports: tuple[int, int] = (0, 0)
    """First and last port (both included) that a slot may listen on for data; (0, 0): any free one."""
    lease_ms: int = 10_000
    """A slot that has not heard from the coordinator for so long stops itself."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)
    """Whatever else a slot must know before it registers (checkpoint storage, batch size, log level)."""


@dataclass(frozen=True, slots=True)
class SparkPlace:
    """Where in Spark a slot runs."""

    spark_task: int
    """Spark's own id of this attempt, unique in the application."""
    attempt: int
    """How often Spark itself has started this task again (0: not yet). Says nothing about generations."""
    executor: str
    """Same executor, same string: ``host/pid of the executor's JVM``. For anti-affinity."""
    host: str
    """Name of the machine, for people."""
