"""Login, logout, and changing the own password."""
