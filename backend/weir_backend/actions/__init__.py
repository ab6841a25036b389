"""Actions: which verbs a caller may use on a job, a checkpoint or a plan now, and why not the others."""
