"""Hand-made violations and near misses of every law: what a core with a mistake would tell.

A near miss differs from its violation in one step, and a plausible misreading of the law would take
it for one: an end that counts as within, an excuse that is forgotten, a condition left out. Stories
show the same wherever some rule breaks a law (`tests/story/pairs`); this is for the rest, and
for bounds that are met exactly.
"""

from tests.check.pairs import (
    absence,
    agreement,
    cleaning,
    coordinators,
    protocol,
    readers,
    snapshots,
)
from tests.check.pairs.handmade import HandMade

HAND_MADE: dict[str, list[HandMade]] = {}
"""Invariant -> its pairs."""

for each in (absence, agreement, cleaning, coordinators, protocol, readers, snapshots):
    for name, pairs in each.PAIRS.items():
        HAND_MADE.setdefault(name, []).extend(pairs)

TESTED_APART: dict[str, str] = {
    "acknowledged-committed": "tests/check/test_promises.py",
    "consumer-continues": "tests/check/test_promises.py",
    "high-watermark-advances": "tests/check/test_promises.py",
    "producer-sequences": "tests/check/test_promises.py",
}
"""Invariants whose violations and near misses are tests of their own, in the file named."""
