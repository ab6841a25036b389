"""Accounts, for administrators."""
