"""Processes that deny access to their details. Root can read the details of all processes, so these
tests read the details as an ordinary user."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from tests.process_details import unless_ended

ORDINARY_USER = 65534 if os.geteuid() == 0 else os.geteuid()
"""The id of an ordinary user and of its group. 65534 is ``nobody``."""
_DENYING = """\
import ctypes, os, sys
if os.getuid() == 0:
    user = int(sys.argv[1])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
PR_SET_DUMPABLE = 4
set_dumpable = lambda value: ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, value, 0, 0, 0)
set_dumpable(0)
print("denies", flush=True)
sys.stdin.readline()
set_dumpable(1)
print("allows", flush=True)
sys.stdin.readline()
"""


@contextmanager
def denying_process() -> Iterator[tuple[psutil.Process, subprocess.Popen[str]]]:
    """Yield a running process. Until the process receives a line, it denies access to its details. Inside the ``with`` block, the
    test process has the rights of an ordinary user."""
    command = [sys.executable, "-c", _DENYING, str(ORDINARY_USER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "denies\n"
        with as_ordinary_user():
            yield psutil.Process(started.pid), started
        started.kill()


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        os.setegid(ORDINARY_USER)
        os.seteuid(ORDINARY_USER)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(user)
            os.setegid(group)


def test_a_zombie_has_no_details() -> None:
    with denying_process() as (process, started):
        started.kill()
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)  # waits until the process has ended, but does not reap it
        with pytest.raises(psutil.AccessDenied):
            process.net_connections("tcp")
        assert unless_ended(process, lambda one: one.net_connections("tcp")) is None
        assert unless_ended(process, psutil.Process.environ) is None


def test_a_reaped_process_has_no_details() -> None:
    with denying_process() as (process, started):
        started.kill()
        started.wait()
        assert unless_ended(process, psutil.Process.environ) is None


def test_a_running_process_that_denies_access_is_an_error() -> None:
    with denying_process() as (process, _):
        with pytest.raises(psutil.AccessDenied):
            unless_ended(process, psutil.Process.environ, wait_s=0)


def test_the_details_are_read_again_until_the_process_allows_access() -> None:
    with denying_process() as (process, started):
        denials = 0

        def read(one: psutil.Process) -> list[str]:
            nonlocal denials
            try:
                return list(one.environ())
            except psutil.AccessDenied:
                denials += 1
                if denials == 1:
                    assert started.stdin is not None
                    print(file=started.stdin, flush=True)
                raise

        assert "PATH" in (unless_ended(process, read) or ())
        assert denials
