"""Reconcile jobs: compute the next step from the desired state and the state of a job. Pure functions compute the decisions, and workers execute
them."""
