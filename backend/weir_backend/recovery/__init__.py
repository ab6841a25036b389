"""Plans for a job's state: computed, looked into, approved, and only then applied."""
