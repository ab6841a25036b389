"""The control plane: stores and serves the state of jobs. It never starts a Spark process itself."""
