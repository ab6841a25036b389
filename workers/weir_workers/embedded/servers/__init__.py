"""The Postgres and Valkey servers that Weir runs itself, and the database schema."""
