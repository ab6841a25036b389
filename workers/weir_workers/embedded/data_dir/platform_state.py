"""The state that the supervisor publishes: platform.json, written atomically, without secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from weir_workers.embedded.data_dir.layout import write_private
from weir_workers.embedded.processes import ProcessId
from weir_workers.embedded.supervisor.state_machine import State

GIVE_UP_FAILURES = 3
"""``weir up`` fails if a process fails this number of times before the platform is up."""


class Phase(StrEnum):
    STARTING = "starting"
    """The phase from the start of this supervisor until all processes are ready at the same time for the first time."""
    UP = "up"
    STOPPING = "stopping"
    DOWN = "down"
    FAILED = "failed"
    """The supervisor could not start any process; ``problem`` is the reason."""


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
    """The ports of the servers. The next ``weir up`` uses the same ports. None: not chosen yet."""

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
    """The URL of the API."""
    children: Mapping[str, ChildState] = field(default_factory=dict)
    """In start order."""
    external: Mapping[str, str] = field(default_factory=dict)
    """The host and port of each external server. The keys are ``postgres`` and ``valkey``."""
    notes: Sequence[str] = ()
    """Notes for the user, for example that the API uses another port than before."""
    problem: str = ""


def write(path: Path, state: PlatformState) -> None:
    write_private(path, json.dumps(asdict(state), indent=2) + "\n")


def read(path: Path) -> PlatformState | None:
    """Return the state, or None if the file is missing or unreadable. A lost file does no harm, because the supervisor writes the state
    again."""
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
    """Return the process that prevents the platform from starting, if any."""
    if state.phase is not Phase.STARTING:
        return None
    return next((name for name, child in state.children.items() if child.failures >= GIVE_UP_FAILURES), None)
