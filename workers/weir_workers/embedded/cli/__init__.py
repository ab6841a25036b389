"""The commands ``weir up``, ``weir down`` and ``weir doctor``."""
