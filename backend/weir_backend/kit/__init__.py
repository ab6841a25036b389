"""Code that all domains share: database sessions, lists, problems, versions, and the port to the workers."""
