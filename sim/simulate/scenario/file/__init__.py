"""Scenario files: their format, how they are read, and how they are written."""
