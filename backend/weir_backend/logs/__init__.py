"""What drivers say on their standard error, piece by piece."""
