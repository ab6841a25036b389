"""Files of user code, named by their content."""
