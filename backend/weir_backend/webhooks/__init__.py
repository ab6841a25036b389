"""Where messages about alerts go, and the messages that wait to be sent. Workers send them, the API never does."""
