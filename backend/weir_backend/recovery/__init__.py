"""Recovery plans: computed, verified, approved, and then applied."""
