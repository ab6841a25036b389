"""User administration."""
