"""Scenario files: their format, and the way from a file to a scenario."""

SCENARIO_FORMAT = "replog-scenario/1"
"""What a file of a timed scenario says it is."""
