"""For each invariant stories that violate it, each with its nearest neighbour that does not.

Most neighbours are one rule apart, the others a step or two. Each names the misreading of the law
that would take the neighbour for a violation.
"""

from tests.story.pairs import a_to_k, l_to_z
from tests.story.pairs.pair import Pair

PAIRS: dict[str, list[Pair]] = {**a_to_k.PAIRS, **l_to_z.PAIRS}
"""Invariant -> its pairs of stories. Those that no rule of the core can violate are missing here:
hand-made events do (`tests/check/pairs`)."""
