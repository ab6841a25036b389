"""Background work of the control plane, and the platform that brings its own servers. Nothing imports this but commands."""
