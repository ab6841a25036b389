"""Shared by all domains: database session, lists, problems, versions, and the port to the workers."""
