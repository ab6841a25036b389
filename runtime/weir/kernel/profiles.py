"""The profiles that the slots of a job are taking: which requests are open, and how each request ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weir.kernel.effects import Effect, Report, Send
from weir.kernel.slots import Slot, SlotPhase, SlotTable
from weir.protocol.ids import CommandId, SlotIndex
from weir.protocol.messages import ProfileAnswer, TakeProfile
from weir.protocol.profiles import PROFILE_SECONDS_MAX

ANSWER_MS_MAX = 15_000
"""The maximum time between the end of a profile and its arrival. The profiler of a slot cannot run while a function holds the GIL."""


@dataclass(frozen=True, slots=True)
class _OpenProfile:
    command: CommandId
    index: SlotIndex
    slot: Slot
    deployment: int
    """``Slot.deployments`` at the time of the request."""
    deadline_ms: int


class Profiles:
    """The open requests for profiles. A slot takes at most one profile at a time. Every request ends with exactly one report: with
    a profile, or with the reason why there is no profile.

    Call ``begin`` for each request, ``on_answer`` for each answer of a slot, ``check`` at every tick, and ``end_all`` when the job
    ends.
    """

    def __init__(self, slots: SlotTable, *, required: int) -> None:
        """``required`` is the number of slots of the job."""
        self._slots = slots
        self._required = required
        self._open: list[_OpenProfile] = []

    def begin(self, command: CommandId, index: SlotIndex, seconds: int, now_ms: int) -> list[Effect]:
        """Ask the slot ``index`` for a profile of ``seconds`` seconds."""
        slot = next((slot for slot in self._slots.deployed() if slot.index == index), None)
        if not 1 <= seconds <= PROFILE_SECONDS_MAX:
            return [_failed(command, f"A profile takes 1 to {PROFILE_SECONDS_MAX} seconds, not {seconds}.")]
        if not 0 <= index < self._required:
            return [_failed(command, f"The job has no slot {index}: its slots are 0 to {self._required - 1}.")]
        if slot is None or slot.phase is not SlotPhase.RUNNING:
            return [_failed(command, f"Slot {index} is not running. Retry when the job is running.")]
        if any(profile.slot is slot for profile in self._open):
            return [_failed(command, f"Slot {index} is already taking a profile. Retry when that profile has ended.")]
        deadline_ms = now_ms + seconds * 1_000 + ANSWER_MS_MAX
        self._open.append(_OpenProfile(command, index, slot, slot.deployments, deadline_ms))
        return [Send(slot.incarnation, TakeProfile(command, seconds))]

    def on_answer(self, slot: Slot, answer: ProfileAnswer) -> list[Effect]:
        """Return no effects if the request has already ended."""
        profile = next((one for one in self._open if one.slot is slot and one.command == answer.command), None)
        if profile is None:
            return []
        self._open.remove(profile)
        return [Report.profile_ended(answer.command, answer.profile, answer.problem)]

    def check(self, now_ms: int) -> list[Effect]:
        """End the requests whose slot is lost, was deployed again or has not answered in time."""
        return self._end((profile, self._problem(profile, now_ms)) for profile in tuple(self._open))

    def end_all(self, problem: str) -> list[Effect]:
        return self._end((profile, problem) for profile in tuple(self._open))

    def _problem(self, profile: _OpenProfile, now_ms: int) -> str | None:
        slot = profile.slot
        if self._slots.get(slot.incarnation) is not slot:
            return f"Slot {profile.index} was lost during the profile. Retry when the job is running."
        if slot.phase is not SlotPhase.RUNNING or slot.deployments != profile.deployment:
            return f"Slot {profile.index} was deployed again during the profile. Retry when the job is running."
        if now_ms >= profile.deadline_ms:
            seconds = ANSWER_MS_MAX // 1_000
            return (
                f"Slot {profile.index} did not send its profile within {seconds} s after the end of the profile. "
                "A function possibly holds the GIL without a break."
            )
        return None

    def _end(self, problems: Iterable[tuple[_OpenProfile, str | None]]) -> list[Effect]:
        ended = [(profile, problem) for profile, problem in problems if problem is not None]
        for profile, _ in ended:
            self._open.remove(profile)
        return [_failed(profile.command, problem) for profile, problem in ended]


def _failed(command: CommandId, problem: str) -> Report:
    return Report.profile_ended(command, None, problem)
