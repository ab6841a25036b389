"""A Postgres, a Redis, the API and a worker as ordinary processes under one directory: no Docker, no root."""
