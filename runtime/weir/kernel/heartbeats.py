"""Which slots are taken for dead, as nothing was heard of them."""

from __future__ import annotations

from collections.abc import Iterable

from weir.kernel.slots import Slot


class Heartbeats:
    """``silent`` is to be called several times per ``timeout_ms``, after everything that has arrived was noted in
    ``Slot.last_heard_ms``.
    """

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._last_check_ms: int | None = None

    def silent(self, slots: Iterable[Slot], now_ms: int) -> list[tuple[Slot, int]]:
        """Each with how long it was silent, in ms."""
        last_ms, self._last_check_ms = self._last_check_ms, now_ms
        if last_ms is not None and now_ms - last_ms > self._timeout_ms // 2:
            # This process itself was away: what the slots sent meanwhile may be anywhere. They get a fresh start.
            for slot in slots:
                slot.last_heard_ms = now_ms
            return []
        silence = [(slot, now_ms - slot.last_heard_ms) for slot in slots]
        return [(slot, silent_ms) for slot, silent_ms in silence if silent_ms >= self._timeout_ms]
