"""Studies: questions that take more than one run, each answered with a table."""
