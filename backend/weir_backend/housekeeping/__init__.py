"""Deletes old rows after their retention period."""
