"""Metrics of runs: time series, current rates, and Prometheus."""
