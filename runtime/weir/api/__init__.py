"""The API for job authors, exported by the package ``weir``: ``from weir import Job, Params, agg, sinks, sources``."""
