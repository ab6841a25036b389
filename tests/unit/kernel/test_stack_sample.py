"""The description of the operator and the function in which a slot is stuck."""

from __future__ import annotations

from typing import Any

import pytest

from weir.graph.compile import compile_graph
from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind
from weir.kernel.stack_sample import decode_sample, describe_stall
from weir.protocol.ids import OperatorUid

COLUMNS = (Column("text", "string"),)


def operator(uid: str, kind: OperatorKind, upstream: str | None, site: str, **config: Any) -> LogicalOperator:
    inputs = () if upstream is None else (Input(OperatorUid(upstream)),)
    return LogicalOperator(OperatorUid(uid), uid, kind, inputs, COLUMNS, "", config=config, site=site)


GRAPH = compile_graph(
    LogicalGraph(
        "job",
        (
            operator("read", OperatorKind.SOURCE, None, "job.py:1"),
            operator("clean", OperatorKind.MAP, "read", "job.py:10", function="Cleaner.parse"),
            operator("odd", OperatorKind.FILTER_ROWS, "clean", "job.py:20", function="<lambda>"),
            operator("even", OperatorKind.FILTER_ROWS, "odd", "job.py:21", function="<lambda>"),
            operator("call", OperatorKind.MAP_BATCHES, "even", "job.py:30", function="request", blocking=True),
            operator("write", OperatorKind.SINK, "call", "job.py:40"),
        ),
    ),
    slots=2,
)
LOOP = """\
  File "/lib/weir/operators/row_operators.py", line 47 in _call_each
  File "/lib/weir/subtask/slot.py", line 200 in _step
  File "/lib/weir/subtask/process.py", line 180 in run
"""


def dump(*innermost: str, outermost: str = LOOP) -> str:
    other = 'Thread 0x01 (most recent call first):\n  File "/lib/python/threading.py", line 1 in wait\n'
    return (
        f"Timeout (0:00:05)!\n{other}\nThread 0x02 (most recent call first):\n"
        + "".join(f"  {one}\n" for one in innermost)
        + outermost
    )


def step(sample: str) -> str:
    return describe_stall(GRAPH, chain=0, in_call=False, sample=sample)


def test_the_description_names_the_operator_that_called_the_user_function() -> None:
    sample = dump('File "/lib/python/re/__init__.py", line 176 in search', 'File "/home/me/job.py", line 12 in parse')
    assert step(sample) == "map 'clean' (at job.py:10), function parse (job.py:12) in search (__init__.py:176)"


def test_the_line_number_distinguishes_two_functions_with_the_same_name() -> None:
    assert (
        step(dump('File "/home/me/job.py", line 21 in <lambda>'))
        == "filter_rows 'even' (at job.py:21), function <lambda> (job.py:21)"
    )
    both = "filter_rows 'odd' (at job.py:20) or filter_rows 'even' (at job.py:21)"
    assert step(dump('File "/home/me/job.py", line 22 in <lambda>')) == f"{both}, function <lambda> (job.py:22)"


def test_the_description_of_a_callable_object_names_all_operators_with_a_function() -> None:
    described = step(dump('File "/home/me/job.py", line 5 in __call__'))
    assert all(f"'{uid}'" in described for uid in ("clean", "odd", "even", "call"))
    assert described.endswith("function __call__ (job.py:5)")


def test_a_stack_without_user_code_is_described_by_its_innermost_frame() -> None:
    described = step(dump())
    assert "sink 'write'" in described
    assert described.endswith("at _call_each (row_operators.py:47)")


@pytest.mark.parametrize("sample", ["", "no stack", dump(outermost="")])
def test_without_a_stack_of_the_loop_the_description_names_all_operators_with_functions(sample: str) -> None:
    assert step(sample).startswith("map 'clean' (at job.py:10) or filter_rows 'odd'")


def test_a_blocking_call_is_described_by_the_stack_of_its_own_thread() -> None:
    thread = '  File "/lib/weir/operators/map_batches.py", line 60 in _call\n  File "/lib/weir/subtask/background.py", line 40 in _run\n'
    idle = 'File "/lib/python/threading.py", line 327 in wait\n  File "/lib/weir/subtask/background.py", line 70 in _run\n'
    sample = f"Thread 0x03 (most recent call first):\n  {idle}\n" + dump(
        'File "/home/me/job.py", line 33 in request', outermost=thread
    )
    described = describe_stall(GRAPH, chain=-1, in_call=True, sample=sample)
    assert described == "map_batches 'call' (at job.py:30), function request (job.py:33)"
    assert describe_stall(GRAPH, chain=-1, in_call=True, sample="") == "map_batches 'call' (at job.py:30)"


def test_an_unknown_chain_or_an_invalid_dump_gives_an_empty_result() -> None:
    assert describe_stall(GRAPH, chain=99, in_call=False, sample="") == ""
    assert decode_sample("xyz") == ""
    assert decode_sample(b"text".hex()) == "text"
