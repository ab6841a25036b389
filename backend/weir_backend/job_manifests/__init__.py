"""Job manifests: declarations of jobs, which a client applies repeatedly. Applying a manifest changes only what differs from the manifest."""
