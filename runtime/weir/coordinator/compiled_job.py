"""The job that the coordinator runs: the compiled graph, its sources and committers, and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.connectors.base import Committer, Source
from weir.graph.physical import PhysicalGraph
from weir.kernel.job import JobConfig
from weir.protocol.ids import OperatorUid


@dataclass(frozen=True, slots=True)
class CompiledJob:
    """``retained`` is the number of newest checkpoints to keep. All pinned checkpoints, such as savepoints, are kept, too."""

    graph: PhysicalGraph
    sources: Mapping[OperatorUid, Source]
    committers: Mapping[OperatorUid, Committer]
    config: JobConfig = field(default_factory=JobConfig)
    retained: int = 3

    @property
    def job(self) -> str:
        return self.graph.logical.job

    @property
    def discover_every_ms(self) -> dict[OperatorUid, int]:
        """For each source that discovers splits, the time between two discoveries."""
        return {uid: every_ms for uid, source in self.sources.items() if (every_ms := source.discover_every_ms) is not None}
