"""The control plane: stores and serves the state of jobs. The control plane never starts a Spark process itself."""
