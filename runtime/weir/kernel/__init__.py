"""Pure state machines. Time and luck come in as arguments; effects go out as values."""
