"""Pure state machines, which receive time and randomness as arguments and return effects as values."""
