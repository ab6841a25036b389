"""How checkpoints went, one after the other, for charts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from weir_backend.checkpoints.schemas import OperatorNameBody, PartSeriesBody
from weir_backend.graphs.names import OperatorName

PHASES = ("start_delay_ms", "alignment_ms", "sync_ms", "async_ms")


@dataclass(frozen=True, slots=True)
class Longest:
    """The longest phases of a subtask, or of a chain (``index`` None), in one checkpoint."""

    checkpoint_id: int
    chain: int
    index: int | None
    start_delay_ms: float | None
    alignment_ms: float | None
    sync_ms: float | None
    async_ms: float | None


def longest_of_each(found: Iterable[Longest]) -> dict[int, dict[str, float | None]]:
    """Of each checkpoint, over all of its parts."""
    longest: dict[int, dict[str, float | None]] = {}
    for one in found:
        before = longest.setdefault(one.checkpoint_id, dict.fromkeys(PHASES))
        for phase in PHASES:
            values = [value for value in (before[phase], getattr(one, phase)) if value is not None]
            before[phase] = max(values, default=None)
    return longest


def parts_of(
    checkpoint_ids: Sequence[int], found: Iterable[Longest], names: Mapping[int, Sequence[OperatorName]]
) -> list[PartSeriesBody]:
    """``checkpoint_ids``: in the order of the points. What was measured of others is left out."""
    place_of = {checkpoint_id: place for place, checkpoint_id in enumerate(checkpoint_ids)}
    parts: dict[tuple[int, int | None], dict[str, list[float | None]]] = {}
    for one in found:
        if one.checkpoint_id not in place_of:
            continue
        series = parts.setdefault((one.chain, one.index), {phase: [None] * len(place_of) for phase in PHASES})
        for phase in PHASES:
            series[phase][place_of[one.checkpoint_id]] = getattr(one, phase)
    return [
        PartSeriesBody(
            chain=chain,
            index=index,
            operators=[OperatorNameBody.model_validate(name) for name in names.get(chain, ())],
            **parts[chain, index],
        )
        for chain, index in sorted(parts, key=lambda key: (key[0], key[1] or 0))
    ]
