"""The deterministic simulator: runs whole jobs with many processes in one thread, from one seed.

The job master (``JobMaster``), the effect runner and the slot runtime (``SlotRuntime``) are production code. The
environment of this code is simulated: the clock, processes that crash and pause, connections that delay and break, and storage
that fails. ``InvariantChecker`` observes the run and raises ``Violation`` when an invariant is broken. The seed determines
everything, so the same seed replays the same run:

    python -m weir.testing.sim --seed 1234 -v

After FoundationDB's simulation testing and TigerBeetle's VOPR.
"""
