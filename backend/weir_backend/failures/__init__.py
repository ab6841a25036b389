"""The history of exceptions."""
