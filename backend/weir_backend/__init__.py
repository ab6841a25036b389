"""The control plane: it stores and serves what is known of jobs, and never starts a Spark process itself."""
