"""The invariants: one law a file, and the file has the law's name.

Two laws share a file only where both are one comparison with two outcomes (`truncation_bounds`,
`txn_verdicts`): whoever changes how the one is decided changes the other. `sim.check.registry`
finds every module of this package; nothing else has to be told of a new one.
"""
