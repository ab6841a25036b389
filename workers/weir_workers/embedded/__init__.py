"""A Postgres, a Redis, the API and a worker as ordinary processes under one directory: no Docker, no root.

    weir up ── starts ──> supervisor ── direct children ──> Postgres, Valkey, API, worker, beat
                              │                              (end with the supervisor, however it ends)
                              └── writes platform.json, which `weir up`, `down` and `doctor` read

Drivers of jobs are nobody's children here: they live on, whatever happens to the platform.

What is in the data directory is listed in ``layout.py``.
"""
