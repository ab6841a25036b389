"""The driver's line to the control plane: it talks outward only, and the job goes on without it."""
