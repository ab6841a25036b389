"""A driver with two slots that kills one of them, says what processes it has, and waits to be told to end (or killed)."""

from __future__ import annotations

import json
import os
import signal
import sys

from pyspark import cloudpickle
from tests.integration.spark import switchboard
from tests.integration.spark.process_tree import family

from weir.spark.session import close_session, open_session
from weir.spark.slots import SlotPool


def main() -> None:
    cloudpickle.register_pickle_by_value(switchboard)
    spark = open_session("local", 2, app_name="weir-driver")
    with switchboard.Switchboard() as board:
        pool = SlotPool(spark, 2, board.bootstrap(), entry=switchboard.line_slot)
        pool.start()
        lines = [board.answer(), board.answer()]
        os.kill(lines[0].pid, signal.SIGKILL)
        replacement = board.answer()
        family_pids = [process.pid for process in family(os.getpid())]
        print(json.dumps({"slots": [lines[1].pid, replacement.pid], "family": family_pids}), flush=True)
        sys.stdin.read()
        pool.release()
    pool.close()
    close_session(spark)


if __name__ == "__main__":
    main()
