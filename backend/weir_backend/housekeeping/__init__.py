"""What is forgotten, and when."""
