"""A driver with two slots. The driver kills one slot, prints its own process id and those of its descendants, and exits when its
standard input is closed."""

from __future__ import annotations

import json
import os
import signal
import sys

from pyspark import cloudpickle
from tests.integration.spark import fake_coordinator
from tests.integration.spark.process_tree import process_tree

from weir.spark.session import close_session, open_session
from weir.spark.slot_pool import SlotPool


def main() -> None:
    cloudpickle.register_pickle_by_value(fake_coordinator)
    spark = open_session("local", 2, app_name="weir-driver")
    with fake_coordinator.FakeCoordinator() as coordinator:
        pool = SlotPool(spark, 2, coordinator.bootstrap(), entry=fake_coordinator.connected_slot)
        pool.start()
        connections = [coordinator.accept(), coordinator.accept()]
        os.kill(connections[0].pid, signal.SIGKILL)
        replacement = coordinator.accept()
        pids = [process.pid for process in process_tree(os.getpid())]
        print(json.dumps({"slots": [connections[1].pid, replacement.pid], "processes": pids}), flush=True)
        sys.stdin.read()
        pool.release()
    pool.close()
    close_session(spark)


if __name__ == "__main__":
    main()
