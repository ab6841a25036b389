"""Ids, messages, manifests, log entries and events: the types that the runtime and the control plane share."""
