"""Background tasks of the control plane, and the embedded platform. Only the ``weir`` command imports this package."""
