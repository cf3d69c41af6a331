"""What runs the blocks of a sweep: a pool of processes, or Spark; both write the same tables."""
