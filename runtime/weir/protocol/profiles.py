"""The profile of a slot: how often a sampling profiler found each call stack in each thread.

A profile contains names of functions and files and line numbers, but no values of variables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

PROFILE_SECONDS_DEFAULT = 10
PROFILE_SECONDS_MAX = 30


@dataclass(frozen=True, slots=True)
class ProfileFrame:
    """A line of a function. ``file`` is a path relative to the root of its package, such as ``polars/frame.py``, or only the name
    of the file if the file is not in a package. ``line`` is 0 if the line is unknown."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} ({self.file}:{self.line})" if self.file else self.function


@dataclass(frozen=True, slots=True)
class StackCount:
    """A call stack, and the number of samples in which the thread had this stack. ``frames`` contains indices into
    ``SlotProfile.frames``, and the outermost frame is first."""

    frames: tuple[int, ...]
    samples: int


@dataclass(frozen=True, slots=True)
class ThreadProfile:
    """The stacks of the threads with the same name. ``cpu_ms`` is the time that these threads were on a CPU core during the
    profile, or None if the system does not report it."""

    name: str
    cpu_ms: int | None
    stacks: tuple[StackCount, ...]


@dataclass(frozen=True, slots=True)
class SlotProfile:
    """A profile of all threads of a slot.

    A sample is due every ``interval_ms``. ``samples`` is the number of samples that were due within ``duration_ms``. While a
    function holds the GIL, the profiler cannot run; it then counts its next sample once for each sample that was due.
    ``dropped_samples`` is the number of stacks that the profile does not contain, because it already had the maximum number of
    different stacks or frames.
    """

    duration_ms: int
    interval_ms: int
    samples: int
    dropped_samples: int
    frames: tuple[ProfileFrame, ...]
    threads: tuple[ThreadProfile, ...]


def collapsed_stacks(profile: SlotProfile) -> Iterator[str]:
    """Yield a line ``thread;outermost frame;...;innermost frame samples`` for each stack, the most frequent stack first. The
    scripts of flamegraph.pl and speedscope read this format."""
    names = [str(frame).replace(";", ",") for frame in profile.frames]
    counts: Counter[str] = Counter()
    for thread in profile.threads:
        for stack in thread.stacks:
            counts[";".join([thread.name.replace(";", ","), *(names[index] for index in stack.frames)])] += stack.samples
    for stacks, samples in counts.most_common():
        yield f"{stacks} {samples}"
