"""What job authors import, by way of the package ``weir`` itself: ``from weir import Job, Params, agg, sinks, sources``."""
