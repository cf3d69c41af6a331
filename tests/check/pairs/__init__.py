"""Hand-made violations and near misses of the invariants: what a core with a mistake would tell.

A near miss differs from its violation in one step, and a plausible misreading of the invariant
would take it for one: an end that counts as within, an excuse that is forgotten, a condition left
out. Stories show the same wherever some rule breaks an invariant (`tests/story/pairs`); this is for
the rest, and for bounds that are met exactly. `tests.check.text` says how the
files are read.
"""
