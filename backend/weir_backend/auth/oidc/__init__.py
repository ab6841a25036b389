"""Login by OpenID Connect: authorization code flow with PKCE. Endpoints, provider client, and validation of identity tokens."""
