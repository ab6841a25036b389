"""Secrets of the platform, to which the parameters of jobs refer. Values are write-only: only the drivers of jobs receive them."""
