"""The deterministic simulator: whole jobs, many processes, one thread, one seed.

The kernel (``JobMaster``) and the runtime of a slot (``SlotRuntime``) are the production code. Around them
everything that time and luck decide is simulated: the clock, processes that crash and pause, connections
that delay and drop, storage that fails, tears and lies. ``Oracle`` watches what happens and raises
``Violation`` at the first thing that must not. One seed decides everything, so a seed replays a run:

    python -m weir.testing.sim --seed 1234 -v

After FoundationDB's simulation testing and TigerBeetle's VOPR.
"""
