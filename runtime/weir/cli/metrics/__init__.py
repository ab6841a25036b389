"""``weir run --metrics HOST:PORT``: what Prometheus reads from a driver."""
