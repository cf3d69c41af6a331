"""`make bench` and `make digests`: what a run costs, and that every way of running gives the same.

Machines differ and are shared, so figures to compare are taken in turns in one run. `python -m
tests.bench` writes `reports/bench.json`.
"""
