"""Housekeeping: deletes old rows when their retention has passed."""
