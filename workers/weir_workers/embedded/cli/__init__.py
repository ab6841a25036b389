"""``weir up``, ``down`` and ``doctor``: what they do and print."""
