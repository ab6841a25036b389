from __future__ import annotations

import pickle
import sys
import threading
import types
from pathlib import Path

import pytest

from weir.errors import GraphError
from weir.spark.pickling import pack_code


def test_a_function_keeps_its_captured_variables_when_it_is_pickled() -> None:
    factor = 3
    packed = pack_code({"map:1": lambda value: value * factor})
    assert pickle.loads(packed["map:1"])(7) == 21


def test_the_error_for_a_function_that_cannot_be_pickled_names_the_operator_and_a_solution() -> None:
    lock = threading.Lock()

    def guarded(value: int) -> int:
        with lock:
            return value

    with pytest.raises(GraphError) as caught:
        pack_code({"per-route.map": guarded})
    message = str(caught.value)
    assert message.startswith("per-route.map: ")
    assert "the captured variable 'lock' (_thread.lock)" in message
    assert "inside the function" in message


def test_the_error_for_an_object_that_cannot_be_pickled_names_the_attribute(tmp_path: Path) -> None:
    class Enrich:
        def __init__(self) -> None:
            self.file = open(tmp_path / "log", "w")  # noqa: SIM115  # it must stay open

        def __call__(self, value: int) -> int:
            return value

    enrich = Enrich()
    with pytest.raises(GraphError, match=r"its attribute 'file' \(_io\.TextIOWrapper\)"):
        pack_code({"enrich": enrich})
    enrich.file.close()


def test_functions_of_the_job_module_are_pickled_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("a_job_file")
    source = "BASE = 40\ndef add(value):\n    return BASE + value\n"
    exec(source, module.__dict__)  # noqa: S102  # a module without a file, which no worker can import
    monkeypatch.setitem(sys.modules, "a_job_file", module)
    by_name, whole = pack_code({"add": module.add}), pack_code({"add": module.add}, by_value=[module])
    monkeypatch.delitem(sys.modules, "a_job_file")
    assert pickle.loads(whole["add"])(2) == 42
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(by_name["add"])
