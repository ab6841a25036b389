"""Webhooks and the pending deliveries. Workers send them; the API never does."""
