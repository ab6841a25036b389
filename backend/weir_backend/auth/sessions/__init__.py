"""Logging in and out, and one's own password."""
