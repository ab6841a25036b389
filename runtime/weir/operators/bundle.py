"""The code of a job: what the graph only refers to. Serialised by ``weir.spark``, never sent over a socket of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weir.errors import GraphError


@dataclass(frozen=True, slots=True)
class CodeBundle:
    """Reference (``LogicalOperator.code``) to a user function, or to a tuple of polars expressions."""

    entries: Mapping[str, object] = field(default_factory=dict)

    def get(self, reference: str | None) -> object:
        """Raises GraphError for a reference that is not in it: graph and bundle are of different jobs."""
        if reference is None or reference not in self.entries:
            raise GraphError(f"the code bundle has no entry {reference!r}: graph and code come from different builds of the job")
        return self.entries[reference]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
