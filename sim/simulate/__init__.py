"""Who decides when: scenarios, the cluster, stories and log files, and a run of them."""
