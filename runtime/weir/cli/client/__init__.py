"""A client of the control plane's API. ``weir run`` does not load it."""
