"""Every request for a profile ends with exactly one report."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kernel_cases import graph, register

from weir.kernel.effects import Effect, Report, ReportKind, Send
from weir.kernel.profiles import ANSWER_MS_MAX, Profiles
from weir.kernel.restore import plan_restore
from weir.kernel.slots import Deployment, SlotTable
from weir.protocol.ids import CheckpointId, CommandId, Generation, SlotIndex
from weir.protocol.messages import ProfileAnswer, TakeProfile
from weir.protocol.profiles import SlotProfile

SLOTS = 2
ZERO = SlotIndex(0)
ONE, TWO = CommandId(1), CommandId(2)
PROFILE = SlotProfile(10_000, 10, 1_000, 0, (), ())


class Case:
    """Two running slots."""

    def __init__(self) -> None:
        self.slots = SlotTable(SLOTS)
        self.deployment = Deployment(self.slots, graph(SLOTS), [])
        self.profiles = Profiles(self.slots, required=SLOTS)
        for number in range(SLOTS):
            self.slots.add(register(number), now_ms=0)
        self.deploy(Generation(1))
        self.slot = self.slots.deployed()[0]

    def deploy(self, generation: Generation) -> None:
        allocated = self.slots.allocate()
        assert allocated is not None
        self.deployment.deploy(
            allocated, plan_restore(graph(SLOTS), None), generation=generation, restored_checkpoint=None,
            next_checkpoint=CheckpointId(1), now_ms=0,
        )  # fmt: skip
        for slot in allocated:
            self.deployment.on_deployed(slot)
        self.deployment.start(allocated, generation)

    def cancel(self) -> None:
        self.deployment.cancel(Generation(1))
        for slot in self.slots:
            self.deployment.on_cancelled(slot)

    def begin(self, command: CommandId = ONE, slot: SlotIndex = ZERO, seconds: int = 10) -> list[Effect]:
        return self.profiles.begin(command, slot, seconds, 0)


@pytest.fixture
def case() -> Case:
    return Case()


def problems(effects: Sequence[Effect]) -> list[tuple[CommandId | None, str]]:
    """Return the command and the problem of each report."""
    assert all(isinstance(one, Report) and one.kind is ReportKind.PROFILE_ENDED and one.profile is None for one in effects)
    return [(one.command, one.text) for one in effects if isinstance(one, Report)]


def test_a_slot_takes_the_requested_profile_and_its_answer_ends_the_request(case: Case) -> None:
    assert case.begin() == [Send(case.slot.incarnation, TakeProfile(ONE, 10))]
    assert case.profiles.check(10_000) == []
    assert case.profiles.on_answer(case.slot, ProfileAnswer(ONE, PROFILE)) == [Report.profile_ended(ONE, PROFILE, "")]
    assert case.profiles.on_answer(case.slot, ProfileAnswer(ONE, PROFILE)) == []
    assert case.profiles.end_all("The job is stopping.") == []


def test_a_slot_takes_one_profile_at_a_time(case: Case) -> None:
    case.begin(ONE)
    assert problems(case.begin(TWO)) == [(TWO, "Slot 0 is already taking a profile. Retry when that profile has ended.")]
    assert len(case.begin(TWO, SlotIndex(1))) == 1, "another slot can take a profile at the same time"
    case.profiles.on_answer(case.slot, ProfileAnswer(ONE, PROFILE))
    assert isinstance(case.begin(CommandId(3))[0], Send)


@pytest.mark.parametrize(
    ("slot", "seconds", "problem"),
    [
        (2, 10, "The job has no slot 2: its slots are 0 to 1."),
        (-1, 10, "The job has no slot -1: its slots are 0 to 1."),
        (0, 31, "A profile takes 1 to 30 seconds, not 31."),
        (0, 0, "A profile takes 1 to 30 seconds, not 0."),
    ],
)
def test_an_invalid_request_is_refused(case: Case, slot: int, seconds: int, problem: str) -> None:
    assert problems(case.begin(ONE, SlotIndex(slot), seconds)) == [(ONE, problem)]


def test_a_slot_that_does_not_run_takes_no_profile(case: Case) -> None:
    case.cancel()
    assert problems(case.begin()) == [(ONE, "Slot 0 is not running. Retry when the job is running.")]


def test_the_loss_of_the_slot_ends_the_request(case: Case) -> None:
    case.begin()
    case.slots.remove(case.slot.incarnation)
    assert problems(case.profiles.check(100)) == [(ONE, "Slot 0 was lost during the profile. Retry when the job is running.")]
    assert case.profiles.check(200) == []


@pytest.mark.parametrize("runs_again", [False, True])
def test_a_new_deployment_of_the_slot_ends_the_request(case: Case, runs_again: bool) -> None:
    """If the slot runs again before the next check, the request also ends."""
    case.begin()
    case.cancel()
    if runs_again:
        case.deploy(Generation(2))
    expected = [(ONE, "Slot 0 was deployed again during the profile. Retry when the job is running.")]
    assert problems(case.profiles.check(100)) == expected
    assert case.profiles.on_answer(case.slot, ProfileAnswer(ONE, PROFILE)) == [], "a late answer has no effect"


def test_a_slot_that_does_not_answer_ends_the_request_at_the_deadline(case: Case) -> None:
    case.begin(seconds=10)
    assert case.profiles.check(10_000 + ANSWER_MS_MAX - 1) == []
    [(command, problem)] = problems(case.profiles.check(10_000 + ANSWER_MS_MAX))
    assert command == ONE
    assert problem.startswith("Slot 0 did not send its profile within 15 s after the end of the profile.")


def test_the_end_of_the_job_ends_all_requests(case: Case) -> None:
    case.begin(ONE)
    case.begin(TWO, SlotIndex(1))
    assert problems(case.profiles.end_all("The job is stopping.")) == [
        (ONE, "The job is stopping."),
        (TWO, "The job is stopping."),
    ]
