"""Engines that run the blocks of a sweep, a pool of processes and Spark, with the same tables."""
