"""The data that a slot needs to start: the address of the coordinator and the code of the job.

The slot receives the bootstrap in the closure of its Spark task. The closure arrives through Spark's authenticated and encrypted
channel from the driver, and never through a socket of Weir. Therefore only the bootstrap may contain pickled code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.protocol.snapshots import JsonValue


@dataclass(frozen=True, slots=True)
class SlotBootstrap:
    """The data that a slot needs to start.

    All slots of a run receive the same bootstrap, including restarted slots and new generations.
    """

    job: str
    host: str
    """The address at which slots reach the coordinator."""
    port: int
    secret: bytes = field(repr=False)
    """The secret of this run, which is never logged and never sent. With an HMAC, peers prove that they know the secret."""
    code: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Maps each code reference of the logical graph to a pickled function. The slot unpickles the function."""
    platform_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The secrets of the platform that the job may use, by name. They are never logged, stored or sent over a connection of Weir."""
    data_ports: tuple[int, int] = (0, 0)
    """First and last port (both inclusive) for data connections. (0, 0) allows any free port."""
    lease_ms: int = 10_000
    """The duration of a slot's first lease. A slot stops when its lease expires (see ``messages.Lease``)."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)
    """Other settings that a slot needs before it registers: checkpoint storage, batch size, log level."""


@dataclass(frozen=True, slots=True)
class SparkTaskInfo:
    """The Spark task that runs a slot."""

    spark_task: int
    """Spark's id of this attempt of the task, unique in the application."""
    attempt: int
    """How often Spark has restarted this task. Unrelated to generations."""
    executor: str
    """Identifies the executor: ``host/pid of the executor's JVM``. For anti-affinity."""
    host: str
    """Host name, for display."""
