"""Sources and sinks for text, JSON-lines and Parquet files. The sinks write into a directory with two-phase commit."""
