"""What runs have counted, as series and for Prometheus."""
