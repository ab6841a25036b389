"""Actions: which verbs a caller may apply to a job, a checkpoint or a plan now, and why the other verbs are not allowed."""
