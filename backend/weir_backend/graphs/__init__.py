"""Graphs, named by their content."""
