"""One module per kind of work. A worker imports every module of this package, so a new task needs no registration."""
