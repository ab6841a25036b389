"""Both ends of a channel inside a slot, with credit-based flow control counted in bytes.

A channel has room while less than its window is on its way or waiting; an empty one admits one batch
larger than the window. Frames that are not data take no credit but stay in order behind what waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from weir.errors import ProtocolError
from weir.operators.base import Batch
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, Generation

WINDOW_BYTES = 4 * 1024 * 1024
CREDIT_RETURN_BYTES = WINDOW_BYTES // 8


class InputChannel:
    """The receiving end: what has arrived and is not yet consumed."""

    def __init__(self, channel: ChannelId, input_index: int, give_back: Callable[[ChannelId, int], None] | None) -> None:
        self.channel = channel
        self.input_index = input_index
        self._give_back = give_back
        self._frames: deque[Frame] = deque()
        self._bytes_held = 0
        self._bytes_owed = 0

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def bytes_held(self) -> int:
        return self._bytes_held

    @property
    def head(self) -> Frame | None:
        return self._frames[0] if self._frames else None

    def push(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._bytes_held += frame.bytes_held

    def pop(self) -> Frame:
        return self._frames.popleft()

    def release(self, frame: Frame) -> None:
        """The frame is consumed: its bytes no longer count, and its sender may send as much again."""
        self._bytes_held -= frame.bytes_held
        if self._give_back is None:
            return
        self._bytes_owed += frame.bytes_held
        if self._bytes_owed >= CREDIT_RETURN_BYTES or not self._frames:
            owed, self._bytes_owed = self._bytes_owed, 0
            self._give_back(self.channel, owed)


class OutputChannel(Protocol):
    channel: ChannelId
    sequence: int

    def has_room(self) -> bool: ...
    def send_data(self, batch: Batch, generation: Generation, epoch: int) -> int:
        """Returns the bytes it counts. To be called only with room for the step that made it."""
        ...

    def send_mark(self, kind: FrameKind, generation: Generation, epoch: int, argument: int) -> None: ...


class LocalOutput:
    """To a subtask of the same slot: straight into its input."""

    def __init__(self, channel: ChannelId, sequence: int, target: InputChannel) -> None:
        self.channel = channel
        self.sequence = sequence
        self._target = target

    def has_room(self) -> bool:
        return self._target.bytes_held < WINDOW_BYTES

    def send_data(self, batch: Batch, generation: Generation, epoch: int) -> int:
        held: int = batch.nbytes
        self._target.push(Frame(FrameKind.DATA, self.channel, generation, epoch, self.sequence, held, batch, held))
        self.sequence += 1
        return held

    def send_mark(self, kind: FrameKind, generation: Generation, epoch: int, argument: int) -> None:
        self._target.push(Frame(kind, self.channel, generation, epoch, self.sequence, argument))


class RemoteOutput:
    """To a subtask of another slot: ``send`` hands a frame to the transport."""

    def __init__(self, channel: ChannelId, sequence: int, send: Callable[[Frame], None]) -> None:
        self.channel = channel
        self.sequence = sequence
        self._send = send
        self._waiting: deque[Frame] = deque()
        self._bytes_out = 0

    def has_room(self) -> bool:
        return not self._waiting and self._bytes_out < WINDOW_BYTES

    def send_data(self, batch: Batch, generation: Generation, epoch: int) -> int:
        held: int = batch.nbytes
        self._enqueue(Frame(FrameKind.DATA, self.channel, generation, epoch, self.sequence, held, batch, held))
        self.sequence += 1
        return held

    def send_mark(self, kind: FrameKind, generation: Generation, epoch: int, argument: int) -> None:
        self._enqueue(Frame(kind, self.channel, generation, epoch, self.sequence, argument))

    def on_credit(self, given_back: int) -> None:
        """Raises ProtocolError if the peer gives back more than it was sent."""
        if not 0 <= given_back <= self._bytes_out:
            raise ProtocolError(f"{self.channel}: {given_back} bytes of credit given back, {self._bytes_out} are out")
        self._bytes_out -= given_back
        while self._waiting and self._admits(self._waiting[0]):
            self._transmit(self._waiting.popleft())

    def _enqueue(self, frame: Frame) -> None:
        if self._waiting or not self._admits(frame):
            self._waiting.append(frame)
        else:
            self._transmit(frame)

    def _admits(self, frame: Frame) -> bool:
        return frame.bytes_held == 0 or self._bytes_out == 0 or self._bytes_out + frame.bytes_held <= WINDOW_BYTES

    def _transmit(self, frame: Frame) -> None:
        self._bytes_out += frame.bytes_held
        self._send(frame)
