"""What drivers tell, and what they are told."""
