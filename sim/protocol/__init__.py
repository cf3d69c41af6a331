"""What a replica does: the log, its compaction, the rules, replication, and the events of it.

Pure: no clock, no chance, no input or output.
"""
