"""Send messages to webhooks: keys, signatures, and HTTP to addresses that were checked first."""
