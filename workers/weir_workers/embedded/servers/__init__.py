"""Postgres and Valkey servers that Weir runs itself, and the schema of the database."""
