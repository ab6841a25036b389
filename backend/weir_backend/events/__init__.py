"""What happened to jobs: the log, and the streams that follow it."""
