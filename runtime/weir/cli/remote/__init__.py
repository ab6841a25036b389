"""The command line as a client of a platform's API. Nothing here is loaded by a run."""
