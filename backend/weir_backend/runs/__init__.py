"""Runs of jobs: their life, and how people read it."""
