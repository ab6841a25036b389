"""The data directory of an embedded platform: layout, lock, credentials, state and logs."""
