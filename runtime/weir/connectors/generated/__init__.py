"""A source of deterministic generated rows."""
