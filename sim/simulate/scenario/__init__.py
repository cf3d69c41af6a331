"""Timed scenarios as data: the model, loading from files, generating from a seed."""
