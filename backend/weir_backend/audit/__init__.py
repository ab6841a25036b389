"""Who has changed what: read here, written by ``kit.audit``."""
