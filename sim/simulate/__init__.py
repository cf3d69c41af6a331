"""Simulations: scenarios, the cluster, stories, log files and their runs, which decide on time."""
