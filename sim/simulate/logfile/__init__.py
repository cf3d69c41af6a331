"""Log files: one cleaner, one log and a few steps, without a cluster (`replog clean`)."""
