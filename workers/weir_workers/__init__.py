"""Background tasks of the control plane, and the embedded platform. The packages ``weir`` and ``weir_backend`` do not import this package.
The ``weir`` command loads this package through an entry point."""
