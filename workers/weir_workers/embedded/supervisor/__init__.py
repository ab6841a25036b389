"""The supervisor of an embedded platform: its process, its state machine and the services that it runs."""
