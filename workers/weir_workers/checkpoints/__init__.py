"""Operations on checkpoints in storage: verification, inspection for plans, garbage collection, pins."""
