"""What workers do with checkpoints in storage: read and compare their files, let go of them, pin them."""
