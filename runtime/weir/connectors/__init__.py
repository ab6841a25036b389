"""Sources and sinks, and their contracts."""
