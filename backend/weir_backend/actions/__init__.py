"""Actions: the verbs that a caller may apply to a job, a checkpoint or a plan now, and the reasons why other verbs are not allowed."""
