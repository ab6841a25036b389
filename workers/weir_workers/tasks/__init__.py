"""One module per kind of work. A worker loads all modules here, so a new task needs no registration."""
