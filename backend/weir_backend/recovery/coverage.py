"""Predict how a job would recover if one of its slots failed now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from weir.errors import ProtocolError
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.events import RecoveryStrategy
from weir_backend.checkpoints.lineage import newest_completed
from weir_backend.jobs import service as jobs
from weir_backend.jobs.spec import with_defaults
from weir_backend.kit.statistics import percentile
from weir_backend.models import Failure, Spec
from weir_backend.recovery.schemas import RECENT_RECOVERIES, CoverageRead, ExchangeRead
from weir_backend.runs import repository as runs


@dataclass(frozen=True, slots=True)
class Prediction:
    strategy: RecoveryStrategy | None
    sentence: str
    exchanges: Sequence[ExchangeRead] = ()


def predict(graph: PhysicalGraph, chosen: RecoveryStrategy, checkpoint: int | None) -> Prediction:
    """Decide as ``JobMaster`` does when a slot of a running job fails. ``chosen``: the strategy in the spec. Pure."""
    restores = "starts without state" if checkpoint is None else f"restores checkpoint {checkpoint}"
    restore = "start without state" if checkpoint is None else f"restore checkpoint {checkpoint}"
    found = [
        ExchangeRead(source=graph.chains[edge.source].operators[-1], target=graph.chains[edge.target].operators[0])
        for edge in graph.exchanges()
    ]
    if graph.slots == 1:
        return Prediction(chosen, f"The only slot {restores}.")
    if chosen is RecoveryStrategy.FULL:
        return Prediction(
            chosen, f"All {graph.slots} slots {restore}, because the version of the job requests the recovery 'full'."
        )
    if not found:
        others = "the other slot continues" if graph.slots == 2 else f"the other {graph.slots - 1} slots continue"
        return Prediction(chosen, f"Only the failed slot {restores}, and {others}.")
    first = f"from {found[0].source!r} to {found[0].target!r}"
    more = ", and between other operators" if len(found) > 1 else ""
    return Prediction(
        RecoveryStrategy.FULL, f"All {graph.slots} slots {restore}, because slots exchange records {first}{more}.", found
    )


def read(session: Session, job_id: int) -> CoverageRead:
    """Raises NotFound."""
    jobs.check_exists(session, job_id)
    run = runs.live_run(session, job_id)
    if run is None:
        return _unknown("The job is not running.")
    stored = runs.graph_of_run(session, run)
    if stored is None:
        return _unknown("The driver has not reported the graph of the job yet.")
    graph = _decode(stored.body)
    if graph is None:
        return _unknown("The graph of the job is unknown, because another version of Weir runs the job.")
    chosen = RecoveryStrategy(with_defaults(session.get_one(Spec, run.spec_id).body)["recovery"])
    checkpoint = newest_completed(session, job_id, run.id)
    prediction = predict(graph, chosen, checkpoint)
    downtimes = sorted(_downtimes(session, job_id, prediction.strategy))
    return CoverageRead(
        strategy=prediction.strategy,
        sentence=prediction.sentence,
        checkpoint=checkpoint,
        exchanges=list(prediction.exchanges),
        recoveries=len(downtimes),
        median_ms=round(percentile(downtimes, 0.5)) if downtimes else None,
        max_ms=downtimes[-1] if downtimes else None,
    )


def _unknown(sentence: str) -> CoverageRead:
    return CoverageRead(
        strategy=None, sentence=sentence, checkpoint=None, exchanges=[], recoveries=0, median_ms=None, max_ms=None
    )


def _decode(body: dict[str, Any]) -> PhysicalGraph | None:
    try:
        return codec.from_json(PhysicalGraph, body)
    except ProtocolError:
        return None


def _downtimes(session: Session, job_id: int, strategy: RecoveryStrategy | None) -> Sequence[int]:
    of_strategy = (Failure.job_id == job_id) & (Failure.recovery == strategy) & Failure.downtime_ms.is_not(None)
    query = select(Failure.downtime_ms).where(of_strategy).order_by(Failure.at.desc()).limit(RECENT_RECOVERIES)
    return [one for one in session.scalars(query) if one is not None]
