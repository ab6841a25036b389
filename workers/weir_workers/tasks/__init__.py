"""A module for each kind of work. All modules here are loaded by a worker: one that declares a task need not be named anywhere."""
