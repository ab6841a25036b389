"""Sending messages to webhooks: keys, signatures, and HTTP to addresses that were looked at first."""
