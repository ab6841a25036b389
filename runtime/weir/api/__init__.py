"""The API for job authors, which the package ``weir`` exports: ``from weir import Job, Params, agg, sinks, sources``."""
