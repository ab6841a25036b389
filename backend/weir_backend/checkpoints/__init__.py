"""Checkpoints as people read them."""
