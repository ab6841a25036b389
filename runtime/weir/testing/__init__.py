"""Testing tools: the deterministic simulator."""
