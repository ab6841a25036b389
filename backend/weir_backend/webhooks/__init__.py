"""Webhooks and the deliveries to them. Workers send the messages; the API never does."""
