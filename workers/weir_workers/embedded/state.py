"""What the supervisor tells others: platform.json, written whole, with no secret in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from weir_workers.embedded.files import write_private
from weir_workers.embedded.processes import ProcessId
from weir_workers.embedded.supervision import State

GIVE_UP_FAILURES = 3
"""Who starts a platform takes it for broken when one of its processes has failed so often before all were ready."""


class Phase(StrEnum):
    STARTING = "starting"
    """Not all processes have been ready yet since this supervisor began."""
    UP = "up"
    STOPPING = "stopping"
    DOWN = "down"
    FAILED = "failed"
    """Before anything could be started; ``problem`` says why."""


@dataclass(frozen=True, slots=True)
class ChildState:
    state: State
    process: ProcessId | None = None
    ready_after_s: float | None = None
    restarts: int = 0
    failures: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Ports:
    """Kept from one ``up`` to the next. None: not chosen yet."""

    postgres: int | None = None
    valkey: int | None = None
    api: int | None = None


@dataclass(frozen=True, slots=True)
class PlatformState:
    version: str
    supervisor: ProcessId
    phase: Phase
    ports: Ports
    url: str = ""
    """Of the API."""
    children: Mapping[str, ChildState] = field(default_factory=dict)
    """In the order in which they are started."""
    external: Mapping[str, str] = field(default_factory=dict)
    """Servers that are not ours: ``postgres`` or ``valkey`` -> host and port."""
    notes: Sequence[str] = ()
    """What a person should know of this start, for example that another port is used."""
    problem: str = ""


def write(path: Path, state: PlatformState) -> None:
    write_private(path, json.dumps(asdict(state), indent=2) + "\n")


def read(path: Path) -> PlatformState | None:
    """None: there is none, or none that this version understands: what it tells can be found out anew."""
    try:
        found = json.loads(path.read_text())
        return _parse(found)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _parse(found: Any) -> PlatformState:
    return PlatformState(
        version=found["version"],
        supervisor=ProcessId(**found["supervisor"]),
        phase=Phase(found["phase"]),
        ports=Ports(**found["ports"]),
        url=found["url"],
        children={name: _parse_child(child) for name, child in found["children"].items()},
        external=found["external"],
        notes=tuple(found["notes"]),
        problem=found["problem"],
    )


def _parse_child(found: Any) -> ChildState:
    child = ChildState(**found)
    process = ProcessId(**found["process"]) if found["process"] is not None else None
    return replace(child, state=State(found["state"]), process=process)


def failed_child(state: PlatformState) -> str | None:
    """Which process keeps a platform that is starting from coming up; None: it may still."""
    if state.phase is not Phase.STARTING:
        return None
    return next((name for name, child in state.children.items() if child.failures >= GIVE_UP_FAILURES), None)
