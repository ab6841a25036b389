"""Reconcile jobs: compute the next step from the desired state and the state of a job. Decisions are computed by pure functions; workers execute
the decisions."""
