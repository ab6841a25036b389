"""API tokens and session tokens."""
