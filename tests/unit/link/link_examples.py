"""Example events and commands for tests of the control link."""

from __future__ import annotations

from weir.protocol.events import (
    AcknowledgedStatistics,
    Cancel,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    Command,
    CommandAnswered,
    CommandOutcome,
    DriverState,
    Event,
    FailureOccurred,
    GraphDeployed,
    MetricsSampled,
    ProfileEnded,
    ProfileSlot,
    Recovered,
    RunStateChanged,
    SamplesDropped,
    SubtasksAcknowledged,
    Suspend,
    TakeCheckpoint,
    TakeSavepoint,
    WarningReported,
)
from weir.protocol.ids import CheckpointId, CommandId, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.profiles import ProfileFrame, SlotProfile, StackCount, ThreadProfile
from weir.protocol.snapshots import SubtaskStatistics

ONE, SEVEN = Generation(1), CheckpointId(7)
SUBTASK = SubtaskId(2, 1)

EVENTS: tuple[Event, ...] = (
    GraphDeployed({"chains": [{"operators": ["a"]}], "slots": 2}),
    RunStateChanged(DriverState.RUNNING, ONE),
    FailureOccurred(ONE, "slot 1 was lost: Verbindung getrennt \u2013 na so was"),
    Recovered(Generation(2), "slot 1 was lost", 182),
    CheckpointTriggered(SEVEN, ONE, "periodic", 4),
    SubtasksAcknowledged(SEVEN, (SUBTASK,), 12),
    CheckpointCompleted(SEVEN, ONE, "periodic", 31, 4096, (AcknowledgedStatistics(SUBTASK, SubtaskStatistics(sync_us=3)),), 96),
    CheckpointFailed(SEVEN, "declined by 2/1: disk full"),
    MetricsSampled(
        SlotMetrics(ONE, SlotIndex(0), 1 << 28, 900_000, (SubtaskMetrics(2, 1, 1, 2, 3, 4, 5, 6, 7, 8),), {"a.keys": 5})
    ),
    SamplesDropped(3, 1_000, 2_000),
    WarningReported(Generation(1), "Sink 'out' could not revoke 3 records."),
    CommandAnswered(CommandId(3), CommandOutcome.REFUSED, "not now"),
    ProfileEnded(
        CommandId(4),
        SlotProfile(
            10_000,
            10,
            1_000,
            3,
            (ProfileFrame("parse", "flights.py", 12),),
            (ThreadProfile("weir-loop", 9_800, (StackCount((0,), 997),)),),
        ),
    ),
    ProfileEnded(CommandId(5), None, "The job is stopping."),
)

COMMANDS: tuple[Command, ...] = (TakeSavepoint(), TakeCheckpoint(), Suspend(), Cancel(), ProfileSlot(SlotIndex(3), 10))


def sample(records: int = 0) -> MetricsSampled:
    return MetricsSampled(SlotMetrics(ONE, SlotIndex(0), 0, 0, (SubtaskMetrics(2, 1, records, 0, 0, 0, 0, 0, 0, 0),), {}))


def failed(checkpoint: int) -> CheckpointFailed:
    return CheckpointFailed(CheckpointId(checkpoint), "declined")
