"""Keyed state: the columnar state backend and its snapshots."""
