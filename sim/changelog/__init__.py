"""Traces of real changes: written out of a git repository, and read as workloads."""
