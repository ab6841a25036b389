"""The Celery tasks of the workers, one module for each kind of work. A worker imports every module of this package, so a new task needs no
registration."""
