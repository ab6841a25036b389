"""Accounts: sessions of people who log in, users, tokens for programs, log-in by OpenID Connect."""
