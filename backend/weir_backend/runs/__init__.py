"""Runs of jobs: their lifecycle and their API."""
