"""Code that all domains share: database sessions, lists, problems, versions, and the interface to the task queue."""
