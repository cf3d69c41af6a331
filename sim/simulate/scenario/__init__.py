"""What to simulate, as data: the model, loading it from files, generating it from a seed."""
