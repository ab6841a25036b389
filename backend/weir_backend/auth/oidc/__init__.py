"""Log-in by OpenID Connect: authorization code flow with PKCE. Endpoints, what is asked of the provider, what is believed of it."""
