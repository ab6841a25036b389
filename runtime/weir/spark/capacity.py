"""How many slots the cluster has room for."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark.sql import SparkSession

from weir.errors import SlotError
from weir.spark.settings import is_local

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Capacity:
    """``task_slots``: Spark tasks that can run at once, over all ``executors`` alive."""

    executors: int
    task_slots: int


def capacity(spark: SparkSession) -> Capacity:
    listed = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    rooms = [int(listed.apply(index).maxTasks()) for index in range(listed.size())]
    # On a cluster the driver is in the list as well, with room for nothing.
    with_room = [room for room in rooms if room > 0]
    return Capacity(executors=len(with_room), task_slots=sum(with_room))


def await_capacity(spark: SparkSession, *, slots: int, spares: int, timeout_s: float) -> Capacity:
    """Wait until there is room for ``slots + spares``. Room for ``slots`` alone is enough once the time is up.

    Executors of a cluster come up one by one, so what is missing now may be there in a moment. Raises SlotError.
    """
    deadline = time.monotonic() + timeout_s
    waits = not is_local(str(spark.sparkContext.master))
    while True:
        found = capacity(spark)
        if found.task_slots >= slots + spares:
            return found
        if time.monotonic() >= deadline or not waits:
            break
        time.sleep(_POLL_S)
    if found.task_slots >= slots:
        return found
    raise SlotError(shortage(spark, found, slots=slots, spares=spares, waited_s=timeout_s if waits else 0.0))


def shortage(spark: SparkSession, found: Capacity, *, slots: int, spares: int, waited_s: float = 0.0) -> str:
    """``waited_s``: so long executors had time to come up."""
    spare = f" and {spares} spare" if spares else ""
    waited = f", {waited_s:g} s after it was asked for them" if waited_s else ""
    return (
        f"too few slots: the job needs {slots} slots{spare}, one core each, and {spark.sparkContext.master} offers "
        f"{found.task_slots} on {found.executors} executors{waited}. Lower the parallelism, or give the application more cores "
        "(local[N]; spark.cores.max and spark.executor.cores; spark.executor.instances)"
    )
