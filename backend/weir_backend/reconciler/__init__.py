"""Reconcile jobs: compute the next step from the desired state and the state of a job. Decisions are pure; workers carry them out."""
