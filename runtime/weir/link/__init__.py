"""The control link: a run's outgoing HTTP connection to the control plane. The job does not depend on it."""
