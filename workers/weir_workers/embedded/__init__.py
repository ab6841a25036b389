"""The embedded platform: Postgres, Redis, API and workers as ordinary processes under one directory, without Docker or root.

::

    weir up ── starts ──> supervisor ── child processes ──> Postgres, Valkey, API, workers, beat
                              │                              (these processes end when the supervisor ends or dies)
                              └── writes platform.json, which `weir up`, `down` and `doctor` read

Drivers of jobs are not children of the supervisor: they continue when the platform stops. ``data_dir/layout.py`` lists the files in the
data directory.
"""
