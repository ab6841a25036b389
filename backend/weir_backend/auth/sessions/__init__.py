"""Login, logout, and changes of the caller's password."""
