"""Runs of jobs: their lifecycle, graphs, failures and logs."""
