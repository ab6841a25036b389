"""Ports of this machine: whether one is taken, who listens at one. Who answers at a port is not said to be ours by answering."""

from __future__ import annotations

import psutil

from weir_workers.embedded.children import free_port


def is_taken(port: int) -> bool:
    return free_port(port) != port


def listens(process: int, port: int) -> bool:
    """The process, or one that it has started, listens at this port. False also where that cannot be seen."""
    try:
        own = psutil.Process(process)
        return _has(own, port) or any(_has(one, port) for one in own.children(recursive=True))
    except psutil.Error:
        return False


def _has(process: psutil.Process, port: int) -> bool:
    try:
        return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in process.net_connections("tcp"))
    except psutil.Error:
        return False  # it has ended meanwhile, or is somebody else's


def holder(port: int) -> str:
    """Who listens there, for people, as far as this user may know."""
    try:
        found = [one.pid for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.laddr.port == port]
    except psutil.Error:
        found = []
    return f"process {found[0]}" if found and found[0] is not None else "another program"
