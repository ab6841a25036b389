"""Tokens: those of programs, and the sessions of people."""
