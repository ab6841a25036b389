"""Operators fused into one subtask, run as one resumable step."""

from __future__ import annotations

from collections.abc import Sequence

from weir.operators.base import Batch, Operator, Step


class OperatorChain:
    """``operators``: first to last, without the source. Every method gives a generator of output batches."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = tuple(operators)

    def process(self, batch: Batch, input_index: int) -> Step:
        if not self.operators:
            return iter((batch,))
        if len(self.operators) == 1:
            return self.operators[0].process(batch, input_index)
        return self._through(0, batch, input_index)

    def on_watermark(self, watermark_ms: int) -> Step:
        for position, operator in enumerate(self.operators):
            yield from self._rest(position, operator.on_watermark(watermark_ms))

    def on_end_of_input(self) -> Step:
        for position, operator in enumerate(self.operators):
            yield from self._rest(position, operator.on_end_of_input())

    def _through(self, position: int, batch: Batch, input_index: int = 0) -> Step:
        if position == len(self.operators):
            yield batch
        else:
            yield from self._rest(position, self.operators[position].process(batch, input_index))

    def _rest(self, position: int, step: Step) -> Step:
        for out in step:
            if out is None:
                yield None
            else:
                yield from self._through(position + 1, out)
