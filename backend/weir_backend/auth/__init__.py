"""Authentication: sessions, users, API tokens, and OpenID Connect."""
