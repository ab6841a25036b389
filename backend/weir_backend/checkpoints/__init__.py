"""Checkpoints of jobs: lists, details and verbs."""
