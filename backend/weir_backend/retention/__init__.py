"""Letting go of checkpoints: of jobs that do not run by age, of chosen ones when somebody asks; and keeping what is pinned."""
