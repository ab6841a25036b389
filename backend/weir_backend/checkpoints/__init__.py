"""Checkpoints of jobs: lists, details, pins, verification and garbage collection."""
