"""Replog: a testbed for compacted replicated logs.

A simulated cluster, thousands of random runs, and the shortest counterexample.
"""

__version__ = "0.1.0"
