"""The operators of a job, with their newest rates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from weir.cli.client.api import ApiClient
from weir.cli.client.errors import Refused
from weir.cli.client.schemas import JobRead, OperatorStatus, SubtaskSeriesRead

METRICS_AGE_MAX = timedelta(seconds=90)
"""The maximum age of metric samples. Older samples do not describe the current throughput."""
_LEVELS = ("ok", "low", "high")


def operators_of(client: ApiClient, job: JobRead) -> list[OperatorStatus]:
    """Return the operators of the job's version. The result is empty if the version is not compiled yet.

    An operator has no rates if its subtasks have reported no recent samples.
    """
    try:
        graph = client.graph(job["id"], job["spec_number"])
    except Refused as error:
        if error.status == 404:
            return []
        raise
    subtasks = {uid: chain["parallelism"] for chain in graph.get("chains", []) for uid in chain["operators"]}
    operators: list[OperatorStatus] = [
        {
            "uid": operator["uid"],
            "kind": operator["kind"],
            "name": operator.get("name", ""),
            "parallelism": subtasks.get(operator["uid"], 0),
        }
        for operator in graph["logical"]["operators"]
    ]
    if job["run"] is not None:
        _add_rates(operators, client.metrics(job["id"], since=datetime.now(UTC) - METRICS_AGE_MAX))
    return operators


def _add_rates(operators: Sequence[OperatorStatus], subtasks: Sequence[SubtaskSeriesRead]) -> None:
    """Add to each operator the sum of the newest rates of its subtasks, and the highest backpressure among the subtasks.

    The operators of a chain share one measurement.
    """
    for operator in operators:
        own = [task for task in subtasks if task["at"] and any(name["uid"] == operator["uid"] for name in task["operators"])]
        if own:
            operator["records_in_per_s"] = sum(task["records_in_per_s"][-1] for task in own)
            operator["records_out_per_s"] = sum(task["records_out_per_s"][-1] for task in own)
            operator["busy_ms_per_s"] = max(task["busy_ms_per_s"][-1] for task in own)
            operator["backpressure"] = max((task["backpressure"][-1] for task in own), key=_LEVELS.index)
