"""The runtime of a slot: the loop that drives the kernel and the operators of its subtasks."""
