"""Many runs: suites, sweeps, searches of every schedule, and what they say together."""
