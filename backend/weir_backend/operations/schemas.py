"""Schemas of the profiles of slots in API responses."""

from __future__ import annotations

from weir_backend.kit.schemas import ResponseModel


class ProfileFrameRead(ResponseModel):
    """A line of a function. `file` is a path relative to the root of its package, or only the name of the file if the file is not in a package.
    `line` is 0 if the line is unknown."""

    function: str
    file: str
    line: int


class StackRead(ResponseModel):
    """A call stack, and the number of samples in which the thread had this stack. `frames` contains indices into the `frames` of the profile,
    and the outermost frame is first."""

    frames: list[int]
    samples: int


class ThreadProfileRead(ResponseModel):
    """The stacks of the threads with the same name, the most frequent stack first. `cpu_ms` is the time that these threads were on a CPU core
    during the profile, or null if the system does not report it."""

    name: str
    cpu_ms: int | None
    stacks: list[StackRead]


class ProfileRead(ResponseModel):
    """A profile of all threads of a slot. A sample is due every `interval_ms`, and `samples` is the number of samples that were due within
    `duration_ms`. `dropped_samples` is the number of stacks that the profile does not contain, because it already had the maximum
    number of different stacks or frames."""

    duration_ms: int
    interval_ms: int
    samples: int
    dropped_samples: int
    frames: list[ProfileFrameRead]
    threads: list[ThreadProfileRead]
