"""Artifacts: files of user code, identified by their content."""
