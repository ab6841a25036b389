"""The watermark of a subtask: the minimum over its active inputs. The watermark never goes back, even after a restore."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from weir.protocol.ids import ChannelId


@dataclass(slots=True)
class _Input:
    watermark_ms: int | None
    idle: bool = False
    ended: bool = False


class WatermarkTracker:
    """``inputs`` maps each channel, except feedback channels, to its restored watermark. None means minus infinity.

    ``idle`` and ``ended`` contain the channels that were idle or had ended in the restored snapshot. ``emitted_ms`` is the
    watermark that the subtask had emitted. Snapshots of older versions of Weir do not contain this watermark. If ``emitted_ms``
    is None, the lowest restored watermark of the inputs counts as emitted.
    """

    def __init__(
        self,
        inputs: Mapping[ChannelId, int | None],
        *,
        idle: Collection[ChannelId] = (),
        ended: Collection[ChannelId] = (),
        emitted_ms: int | None = None,
    ) -> None:
        self._inputs = {channel: _Input(watermark, channel in idle, channel in ended) for channel, watermark in inputs.items()}
        self._emitted_ms = self._minimum() if emitted_ms is None else emitted_ms
        self._idle = self._open_inputs_are_idle()

    @property
    def emitted_ms(self) -> int | None:
        """The newest watermark that the subtask has emitted. None means minus infinity."""
        return self._emitted_ms

    @property
    def idle(self) -> bool:
        """Whether the output of the subtask is idle: all inputs are idle or have ended, and at least one input has not ended."""
        return self._idle

    def state(self, channel: ChannelId) -> tuple[int | None, bool, bool]:
        """Return what the snapshot contains about one input: its watermark, whether the input is idle, and whether the input has
        ended."""
        entry = self._inputs.get(channel)
        return (entry.watermark_ms, entry.idle, entry.ended) if entry is not None else (None, False, False)

    def on_watermark(self, channel: ChannelId, watermark_ms: int) -> int | None:
        """Return the new watermark of the subtask if it has advanced, else None."""
        entry = self._inputs.get(channel)
        if entry is None:
            return None
        entry.idle = False
        if entry.watermark_ms is None or watermark_ms > entry.watermark_ms:
            entry.watermark_ms = watermark_ms
        return self._advance()

    def on_active(self, channel: ChannelId) -> None:
        """Mark the channel as active again, because data arrived."""
        entry = self._inputs.get(channel)
        if entry is not None and entry.idle:
            entry.idle = False
            self._idle = False

    def on_idle(self, channel: ChannelId) -> int | None:
        entry = self._inputs.get(channel)
        if entry is None:
            return None
        entry.idle = True
        return self._advance()

    def on_end(self, channel: ChannelId) -> int | None:
        entry = self._inputs.get(channel)
        if entry is None:
            return None
        entry.ended = True
        return self._advance()

    def _advance(self) -> int | None:
        self._idle = self._open_inputs_are_idle()
        minimum = self._minimum()
        if minimum is None or (self._emitted_ms is not None and minimum <= self._emitted_ms):
            return None
        self._emitted_ms = minimum
        return minimum

    def _open_inputs_are_idle(self) -> bool:
        waiting = [entry for entry in self._inputs.values() if not entry.ended]
        return bool(waiting) and all(entry.idle for entry in waiting)

    def _minimum(self) -> int | None:
        counted = [entry.watermark_ms for entry in self._inputs.values() if not entry.idle and not entry.ended]
        defined = [watermark for watermark in counted if watermark is not None]
        return min(defined) if counted and len(defined) == len(counted) else None
