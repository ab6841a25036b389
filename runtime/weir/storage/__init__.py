"""Checkpoint storage: the job log, manifests and state files on disk or in an object store."""
