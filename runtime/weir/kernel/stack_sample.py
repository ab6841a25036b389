"""Finds out from a sample of a slot's stacks in which operator and user function the slot is stuck. All functions are pure.

A sample is text in the format of Python's faulthandler: one section for each thread, with the innermost frame first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from weir.graph.logical import LogicalOperator
from weir.graph.physical import PhysicalGraph

SAMPLE_BYTES_MAX = 64 * 1024
_LOOP = ("/weir/subtask/process.py",)
_CALL = ("/weir/subtask/background.py", "/weir/operators/")
"""Parts of file paths. The stack of the loop's thread contains a file that matches ``_LOOP``. The stack of an executor thread
that runs a user function contains a file for each item of ``_CALL``."""
_SECTION = re.compile(r"\n(?=(?:Current thread|Thread) )")
_FRAME = re.compile(r' *File "(.*)", line (\d+) in (.+)')
_WEIR = re.compile(r"/weir/(operators|connectors|state|storage|subtask|transport)/")


@dataclass(frozen=True, slots=True)
class StackFrame:
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.function} ({self.site})"

    @property
    def site(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


def decode_sample(dump: str) -> str:
    """Return the text of ``StackSample.dump``, or an empty string if the dump is invalid."""
    try:
        return bytes.fromhex(dump[: 2 * SAMPLE_BYTES_MAX]).decode("ascii", "replace")
    except ValueError:
        return ""


def describe_stall(graph: PhysicalGraph, *, chain: int, in_call: bool, sample: str) -> str:
    """Return the operator and the function of a long step or blocking call, such as "map 'clean' (at flights.py:12), function
    parse (flights.py:8)".

    ``chain`` is the index of the chain whose step runs, or -1. ``sample`` is a sample of the slot's stacks. An empty string means
    that no sample exists. If several operators may have made the call, the result names all of these operators. The result is
    empty if neither the operator nor the function is known.
    """
    stack = _stack(sample, _CALL if in_call else _LOOP)
    user_code = stack[: next((position for position, frame in enumerate(stack) if _WEIR.search(frame.file)), 0)]
    if in_call:
        operators = _callers([one for one in graph.logical.operators if _config(one, "blocking")], user_code)
    else:
        chained = graph.chains[chain].operators if 0 <= chain < len(graph.chains) else ()
        operators = [graph.operator(uid) for uid in chained]
        if user_code or not stack:
            operators = _callers(operators, user_code) or operators
    parts = [" or ".join(operator.label for operator in operators)]
    if user_code:
        called, innermost = user_code[-1], user_code[0]
        parts.append(f"function {called}" + (f" in {innermost}" if innermost is not called else ""))
    elif stack:
        parts.append(f"at {stack[0]}")
    return ", ".join(filter(None, parts))


def _stack(sample: str, files: Sequence[str]) -> list[StackFrame]:
    """Find the first thread whose stack contains a file for each item of ``files``. Return this stack with the innermost frame
    first."""
    for section in _SECTION.split(sample):
        matches = [match for line in section.splitlines() if (match := _FRAME.fullmatch(line.rstrip()))]
        frames = [StackFrame(match[1], int(match[2]), match[3]) for match in matches]
        if all(any(file in frame.file for frame in frames) for file in files):
            return frames
    return []


def _callers(operators: Sequence[LogicalOperator], user_code: Sequence[StackFrame]) -> list[LogicalOperator]:
    """Return the operators that may have called ``user_code``. A frame contains only the last part of a function's name. For a
    callable object, the name in the frame is ``__call__``."""
    candidates = [one for one in operators if _config(one, "function")]
    if not user_code:
        return candidates
    called = user_code[-1]
    named = [one for one in candidates if str(_config(one, "function")).rpartition(".")[2] == called.function]
    return [one for one in named if one.site == called.site] or named or candidates


def _config(operator: LogicalOperator, name: str) -> object:
    return operator.config.get(name) if isinstance(operator.config, dict) else None
