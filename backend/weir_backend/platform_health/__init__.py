"""The health of the platform itself: Postgres, Redis, the workers, beat, the data directory and the connections of drivers."""
