"""What has to be done for a generation before its slots may start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weir.kernel.checkpoints import permit_for_restore
from weir.kernel.effects import Prepare
from weir.kernel.restore import RestorePoint, restored_assigners
from weir.kernel.retries import Retries
from weir.kernel.splits import SplitAssigner
from weir.protocol.ids import Generation, OperatorUid
from weir.protocol.snapshots import Split


class Preparation:
    """Of one generation that begins at ``point`` (None: from nothing). Every step of it can be done again.

    Only sources that ``point`` does not know are enumerated: of the others the splits are those of the checkpoint.
    """

    def __init__(
        self, generation: Generation, point: RestorePoint | None, sources: Iterable[OperatorUid], retries: Retries
    ) -> None:
        self._generation = generation
        self._point = point
        known = point.assigners.keys() if point else ()
        self._new_sources = tuple(uid for uid in sources if uid not in known)
        self._retries = retries

    def first(self) -> Prepare:
        return self._prepare(delay_ms=0)

    def again(self) -> Prepare | None:
        """After a failure. None: it was tried often enough."""
        delay_ms = self._retries.next_delay_ms()
        return None if delay_ms is None else self._prepare(delay_ms=delay_ms)

    def assigners(self, enumerated: Mapping[OperatorUid, Iterable[Split]]) -> dict[OperatorUid, SplitAssigner]:
        """Of all sources: those of the checkpoint with what they had left, the new ones with what was ``enumerated``."""
        restored = restored_assigners(self._point) if self._point else {}
        return restored | {uid: SplitAssigner(splits) for uid, splits in enumerated.items()}

    def _prepare(self, *, delay_ms: int) -> Prepare:
        permit = permit_for_restore(self._point.checkpoint, self._generation) if self._point else None
        return Prepare(self._generation, permit, self._point, self._new_sources, delay_ms)
