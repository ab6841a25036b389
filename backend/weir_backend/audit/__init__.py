"""The audit log. ``kit.audit`` writes it."""
