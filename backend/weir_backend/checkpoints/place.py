"""Where checkpoints are in storage: what a worker has to know to find them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.paths import job_root, manifest_path
from weir_backend.models import Graph, Run, Spec

_CONTAINERS = frozenset({"abfs", "abfss"})
"""What stands there before the host is no name of a user: ``abfss://container@account.dfs.core.windows.net``."""


@dataclass(frozen=True, slots=True)
class Place:
    """``name``: of the job as its code calls it, which names its log. Two jobs with the same of both share one."""

    directory: str
    name: str

    def manifest(self, checkpoint: CheckpointId, generation: Generation) -> str | None:
        """Where it is, for people: without what may be a secret in the address of a storage. None: the address is none."""
        shown = _shown(self.directory)
        return f"{shown.rstrip('/')}/{job_root(self.name)}{manifest_path(checkpoint, generation)}" if shown is not None else None


def _shown(directory: str) -> str | None:
    if "://" not in directory:
        return directory
    try:
        parts = urlsplit(directory)
    except ValueError:
        return None
    who, _, host = parts.netloc.rpartition("@")
    if who and parts.scheme in _CONTAINERS:
        host = f"{who.partition(':')[0]}@{host}"
    return f"{parts.scheme}://{host}{parts.path}"


def name_in_code() -> ColumnElement[str]:
    """Of a row of ``Graph``."""
    found: ColumnElement[str] = Graph.body["logical"]["job"].astext
    return found


def place_of_run(session: Session, run_id: int) -> Place | None:
    """None: nobody can say, as the graph of the run is not known."""
    found = session.execute(
        select(Run.checkpoint_directory, name_in_code())
        .join(Spec, Spec.id == Run.spec_id)
        .join(Graph, Graph.id == func.coalesce(Run.graph_id, Spec.graph_id))
        .where(Run.id == run_id)
    ).one_or_none()
    if found is None or not found[0] or not found[1]:
        return None
    return Place(*found)
