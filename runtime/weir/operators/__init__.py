"""Operators, the interface that operators implement, and the partitioners that distribute records among subtasks."""
