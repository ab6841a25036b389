"""A slot process closes its resources if it cannot start."""

from __future__ import annotations

import gc
import os
import pickle
import threading
import time
from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap, SparkTaskInfo
from weir.subtask.process import SlotProcess
from weir.subtask.program import load_code
from weir.subtask.settings import ProcessSettings
from weir.transport.control import ControlServer
from weir.transport.handshake import JobCredentials

SECRET = b"sixteen bytes, at least"
TASK_INFO = SparkTaskInfo(spark_task=0, attempt=0, executor="host/1", host="host")


def descriptors() -> list[str]:
    gc.collect()
    found = (
        os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")
    )
    return sorted(one.partition(":")[0] for one in found if one.startswith(("socket:", "anon_inode:")))


def bootstrap(directory: Path, port: int, code: dict[str, bytes]) -> SlotBootstrap:
    settings = codec.to_json(ProcessSettings(run=1, storage_url=directory.as_uri()))
    assert isinstance(settings, dict)
    return SlotBootstrap(job="job", host="127.0.0.1", port=port, secret=SECRET, code=code, settings=settings)


def test_a_slot_that_cannot_load_its_code_closes_its_descriptors(tmp_path: Path) -> None:
    before = descriptors()
    for _ in range(3):
        with pytest.raises(pickle.UnpicklingError):
            SlotProcess(bootstrap(tmp_path, 9, {"f": b"no pickle"}), 0, TASK_INFO)
    assert descriptors() == before


def test_a_slot_that_cannot_register_closes_its_descriptors(tmp_path: Path) -> None:
    """Registration fails because the host name cannot be encoded."""
    server = ControlServer(
        JobCredentials(SECRET, "job"), host="127.0.0.1", generation=1, incarnation="coordinator", log_connection=lambda text: None
    )
    before = descriptors()
    process = SlotProcess(bootstrap(tmp_path, server.port, {}), 0, SparkTaskInfo(0, 0, "not encodable: \udce9", "host"))
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            server.poll(time.monotonic_ns(), 1_000_000)

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(ConnectionError, match="UnicodeEncodeError"):
        process.run()
    stop.set()
    thread.join()
    server.poll(time.monotonic_ns(), 0)
    assert descriptors() == before
    server.close()


def test_the_error_for_a_missing_module_names_module_and_executor() -> None:
    code = pickle.dumps(test_the_error_for_a_missing_module_names_module_and_executor).replace(
        __name__.encode(), b"x" * len(__name__)
    )
    with pytest.raises(ConfigError, match=r"map 'clean': its code needs the Python module 'x+', which the executor on host7"):
        load_code({"map 'clean'": code}, "host7")
