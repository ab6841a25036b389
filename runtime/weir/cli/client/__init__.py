"""A client of the control plane's API. ``weir run`` does not load this package."""
