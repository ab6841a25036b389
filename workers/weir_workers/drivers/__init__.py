"""Driver processes on this host: start them detached from the worker, find them after a restart, watch them."""
