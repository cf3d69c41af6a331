"""Scenario files: their format, and the way from a file to a scenario."""
