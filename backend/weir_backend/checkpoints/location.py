"""Location of the checkpoints of a run: the checkpoint directory and the name of the job."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.paths import job_root, manifest_path
from weir_backend.models import Graph, Run, Spec

_CONTAINERS = frozenset({"abfs", "abfss"})
"""In URLs of Azure storage, the part before the host is a container and not a user, as in ``abfss://container@account.dfs.core.windows.net``."""


@dataclass(frozen=True, slots=True)
class CheckpointLocation:
    """The location of the checkpoints of a run. ``directory`` is the checkpoint directory. ``name`` is the name of the job in its code, which is also
    the name of the job log. Two jobs with the same location share a job log."""

    directory: str
    name: str

    def manifest(self, checkpoint: CheckpointId, generation: Generation) -> str | None:
        """Return the URL or path of the manifest, without credentials, or None if the directory is not a valid URL."""
        shown = _without_credentials(self.directory)
        return f"{shown.rstrip('/')}/{job_root(self.name)}{manifest_path(checkpoint, generation)}" if shown is not None else None


def _without_credentials(directory: str) -> str | None:
    if "://" not in directory:
        return directory
    try:
        parts = urlsplit(directory)
    except ValueError:
        return None
    user, _, host = parts.netloc.rpartition("@")
    if user and parts.scheme in _CONTAINERS:
        host = f"{user.partition(':')[0]}@{host}"
    return f"{parts.scheme}://{host}{parts.path}"


def job_name_in_graph() -> ColumnElement[str]:
    """Return the expression that reads the name of the job from a row of ``Graph``."""
    found: ColumnElement[str] = Graph.body["logical"]["job"].astext
    return found


def location_of_run(session: Session, run_id: int) -> CheckpointLocation | None:
    """Return the location of the run's checkpoints, or None if the graph of the run is unknown."""
    return locations_of_runs(session, [run_id]).get(run_id)


def locations_of_runs(session: Session, run_ids: Collection[int]) -> dict[int, CheckpointLocation]:
    """Return the location of each run's checkpoints. Runs whose graph is unknown are left out."""
    rows = session.execute(
        select(Run.id, Run.checkpoint_directory, job_name_in_graph())
        .join(Spec, Spec.id == Run.spec_id)
        .join(Graph, Graph.id == func.coalesce(Run.graph_id, Spec.graph_id))
        .where(Run.id.in_(run_ids))
    )
    return {run_id: CheckpointLocation(directory, name) for run_id, directory, name in rows if directory and name}
