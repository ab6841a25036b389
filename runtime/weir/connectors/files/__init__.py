"""Sources and sinks for files: text, JSON lines, Parquet; sinks write into a directory with two-phase commit."""
