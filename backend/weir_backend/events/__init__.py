"""The event log of jobs, and event streams."""
