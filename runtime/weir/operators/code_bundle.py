"""The user code of a job. The graph contains references to this code. ``weir.spark`` serialises the user code. User code is never
sent over Weir's own connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weir.errors import GraphError


@dataclass(frozen=True, slots=True)
class CodeBundle:
    """Maps references (``LogicalOperator.code``) to user functions, or to tuples of polars expressions."""

    entries: Mapping[str, object] = field(default_factory=dict)

    def get(self, reference: str | None) -> object:
        """Return the user function or the expressions to which ``reference`` refers. Raises GraphError if the bundle does not
        contain the reference. In this case, the graph and the bundle are from different builds of the job."""
        if reference is None or reference not in self.entries:
            raise GraphError(f"The code bundle has no entry {reference!r}: graph and code come from different builds of the job.")
        return self.entries[reference]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
