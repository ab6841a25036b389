"""Recovery plans: proposed, inspected, approved and applied."""
