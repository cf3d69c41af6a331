"""Log files: one cleaner, one log and a few steps, without a cluster (`replog clean`)."""

LOG_FORMAT = "replog-log/1"
"""What a log file says it is."""
