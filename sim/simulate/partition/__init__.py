"""Partitions of real brokers: what their files hold, whether a cleaner is due, what it would do.

Everything is read, nothing is written; a broker may be using the files.
"""
