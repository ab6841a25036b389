"""Driver processes on this host: start them detached, find them again, watch them."""
