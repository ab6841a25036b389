"""Pure state machines. They receive time and randomness as arguments and return effects as values."""
