"""The protocol of one replica: its log, compaction, rules, replication, and their events.

Pure: no clock, no chance, no input or output.
"""
