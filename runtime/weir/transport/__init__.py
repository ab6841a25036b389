"""Authenticated connections between driver and slots: control messages and data frames over TCP."""
