"""Whether the files of checkpoints are what was written: looked at on a schedule, and when somebody asks."""
