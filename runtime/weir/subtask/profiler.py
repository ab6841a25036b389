"""The sampling profiler of a slot. On request, a thread samples the stacks of all threads of the slot process.

No library fits, so the profiler reads ``sys._current_frames()``. The sampler of pyinstrument 5.1 sees only the thread that starts
it. yappi 1.7 does not sample, but hooks each function call of the program. py-spy 0.4 and austin read the memory of the
process from another process, which needs the right to use ptrace, and containers usually do not grant this right.

A sample of 12 threads with stacks of 30 frames takes 0.2 ms, so a profile uses about 2 % of one CPU core. The thread exists only during
a profile, so a slot without a profile has no cost.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from types import CodeType, FrameType

import structlog

from weir.operators.user_code import file_name
from weir.protocol.messages import ProfileAnswer, TakeProfile
from weir.protocol.profiles import ProfileFrame, SlotProfile, StackCount, ThreadProfile

INTERVAL_MS = 10
STACKS_MAX = 2_000
"""The maximum number of different stacks in a profile. Samples of further stacks are dropped."""
LINES_MAX = 4_000
"""The maximum number of different frames in a profile. Samples that contain further frames are dropped."""
DEPTH_MAX = 100
"""The maximum number of frames in a stack. The outermost frames of a deeper stack are left out."""
NAME_CHARACTERS_MAX = 200
CLOSE_TIMEOUT_S = 1.0
LEFT_OUT = ProfileFrame("[outer frames]", "", 0)
LOOP = "weir-loop"
"""The name of the slot's loop in a profile."""

_Line = tuple[int, int]
"""The id of a code object, and a line."""

log = structlog.get_logger(__name__)


class StackCounts:
    """Counts the stacks of threads, with bounded memory. Values of variables are never read."""

    def __init__(self, *, stacks_max: int = STACKS_MAX, lines_max: int = LINES_MAX, depth_max: int = DEPTH_MAX) -> None:
        self._stacks_max = stacks_max
        self._lines_max = lines_max
        self._depth_max = depth_max
        self._counts: Counter[tuple[str, tuple[_Line, ...]]] = Counter()
        self._code: dict[_Line, CodeType | None] = {}
        """The code object of each line. While a code object is referenced, no other code object has its id."""
        self.dropped = 0

    def add(self, thread: str, innermost: FrameType, samples: int) -> None:
        """Count ``samples`` samples of a stack of the thread with the name ``thread``, or drop them if a limit is reached."""
        lines: list[_Line] = []
        codes: list[CodeType | None] = []
        frame: FrameType | None = innermost
        while frame is not None and len(lines) < self._depth_max:
            code = frame.f_code
            lines.append((id(code), frame.f_lineno or 0))
            codes.append(code)
            frame = frame.f_back
        if frame is not None:
            lines[-1], codes[-1] = (0, 0), None
        key = (thread, tuple(lines))
        if key not in self._counts:
            new = {line: code for line, code in zip(lines, codes, strict=True) if line not in self._code}
            if len(self._counts) >= self._stacks_max or len(self._code) + len(new) > self._lines_max:
                self.dropped += samples
                return
            self._code |= new
        self._counts[key] += samples

    def frames(self, roots: Sequence[str]) -> tuple[tuple[ProfileFrame, ...], Mapping[_Line, int]]:
        """Return the different frames, and the index of the frame of each line. ``roots``: see ``short_path``."""
        frames: dict[ProfileFrame, int] = {}
        index_of: dict[_Line, int] = {}
        for line, code in self._code.items():
            frame = LEFT_OUT
            if code is not None:
                frame = ProfileFrame(_sendable(code.co_qualname), _sendable(short_path(code.co_filename, roots)), line[1])
            index_of[line] = frames.setdefault(frame, len(frames))
        return tuple(frames), index_of

    def threads(self, index_of: Mapping[_Line, int], cpu_ms: Mapping[str, int | None]) -> tuple[ThreadProfile, ...]:
        """Return the profile of each thread, and for each thread its most frequent stack first."""
        stacks: dict[str, list[StackCount]] = {}
        for (thread, lines), samples in self._counts.most_common():
            stacks.setdefault(thread, []).append(StackCount(tuple(index_of[line] for line in reversed(lines)), samples))
        return tuple(
            ThreadProfile(_sendable(thread), cpu_ms.get(thread), tuple(stacks[thread]))
            for thread in sorted(stacks, key=lambda thread: (-(cpu_ms.get(thread) or 0), thread))
        )


def short_path(path: str, roots: Sequence[str]) -> str:
    """Return a readable path: relative to the longest directory in ``roots`` that contains the file, or only the name of the file.
    ``roots`` are directories from which Python imports modules."""
    containing = [root for root in (one.rstrip("/") for one in roots) if root and path.startswith(f"{root}/")]
    return path[len(max(containing, key=len)) + 1 :] if containing and PurePath(path).suffix else file_name(path)


def _sendable(text: str) -> str:
    """Return ``text`` truncated, and without characters that cannot be sent or printed."""
    return "".join(one if one.isprintable() else "?" for one in text[:NAME_CHARACTERS_MAX])


class _Threads:
    """The names of threads, and how long they were on a CPU core since the first sample in which they appeared."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._began_ns: dict[int, tuple[str, int]] = {}
        """For each thread id of the system, the name of the thread and its time on a core when it first appeared."""

    def name(self, ident: int) -> str:
        if ident not in self._names:
            for thread in threading.enumerate():
                if thread.ident is not None and thread.ident not in self._names:
                    # The main thread of a Python worker of Spark runs the loop. Spark forks the worker, and Python 3.11 does not
                    # update the ``native_id`` of the main thread after a fork. On Linux, this id is the id of the process.
                    is_loop = thread is threading.main_thread()
                    name, native_id = (LOOP, os.getpid()) if is_loop else (thread.name, thread.native_id)
                    self._names[thread.ident] = name
                    cpu_ns = _cpu_ns(native_id)
                    if cpu_ns is not None and native_id is not None:
                        self._began_ns[native_id] = name, cpu_ns
            self._names.setdefault(ident, "other threads")
        return self._names[ident]

    def cpu_ms(self) -> Mapping[str, int | None]:
        """Return the time on a core for each name. The time of a thread that has ended is unknown."""
        total: dict[str, int | None] = {}
        for native_id, (name, began_ns) in self._began_ns.items():
            now_ns = _cpu_ns(native_id)
            if now_ns is not None:
                total[name] = (total.get(name) or 0) + max(0, now_ns - began_ns) // 1_000_000
        return total


def _cpu_ns(native_id: int | None) -> int | None:
    try:
        with open(f"/proc/self/task/{native_id}/schedstat") as schedstat:
            return int(schedstat.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None


class SlotProfiler:
    """Takes profiles of this process. One thread calls ``start``. Another thread may call ``close``. ``send`` is called by the
    thread that takes the profile."""

    def __init__(self, send: Callable[[ProfileAnswer], None], *, interval_ms: int = INTERVAL_MS) -> None:
        self._send = send
        self._interval_ms = interval_ms
        self._running: tuple[threading.Thread, threading.Event] | None = None

    def start(self, request: TakeProfile) -> None:
        """Start a profile, and return at once. A running profile ends without an answer."""
        self._stop()
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(request, stop), name="weir-profiler", daemon=True)
        self._running = thread, stop
        thread.start()

    def close(self) -> None:
        """End a running profile without an answer, and wait until its thread has ended."""
        running = self._stop()
        if running is not None:
            running.join(CLOSE_TIMEOUT_S)

    def _stop(self) -> threading.Thread | None:
        if self._running is None:
            return None
        thread, stop = self._running
        stop.set()
        return thread

    def _run(self, request: TakeProfile, stop: threading.Event) -> None:
        try:
            profile = self._sample(request.seconds * 1_000_000_000, stop)
            answer = ProfileAnswer(request.command, profile)
        except Exception as error:  # any error ends the profile, not the slot
            log.exception("profile failed")
            answer = ProfileAnswer(request.command, None, f"The profiler failed: {type(error).__name__}: {error}")
        if not stop.is_set():
            self._send(answer)

    def _sample(self, duration_ns: int, stop: threading.Event) -> SlotProfile:
        counts, threads, own = StackCounts(), _Threads(), threading.get_ident()
        interval_ns = self._interval_ms * 1_000_000
        began_ns = time.monotonic_ns()
        taken = 0
        while taken * interval_ns < duration_ns:
            wait_ns = began_ns + (taken + 1) * interval_ns - time.monotonic_ns()
            if stop.wait(max(0, wait_ns) / 1e9):
                break
            # While another thread holds the GIL, this thread cannot run. When it runs again, the other threads still have the stacks
            # of that time, so count these stacks once for each sample that was due.
            due = min(time.monotonic_ns() - began_ns, duration_ns) // interval_ns
            samples, taken = max(1, due - taken), max(taken + 1, due)
            for ident, frame in sys._current_frames().items():
                if ident != own:
                    counts.add(threads.name(ident), frame, samples)
        frames, index_of = counts.frames(_import_roots())
        return SlotProfile(
            duration_ms=(time.monotonic_ns() - began_ns) // 1_000_000,
            interval_ms=self._interval_ms,
            samples=taken,
            dropped_samples=counts.dropped,
            frames=frames,
            threads=counts.threads(index_of, threads.cpu_ms()),
        )


def _import_roots() -> list[str]:
    """Return the directories of ``sys.path``, and the directory of the standard library."""
    return [*(os.path.abspath(path) for path in sys.path if path), os.path.dirname(os.__file__)]
