"""The loop that drives the kernel in one slot."""
