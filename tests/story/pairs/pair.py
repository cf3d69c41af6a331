"""What a pair of stories is."""

from typing import NamedTuple


class Pair(NamedTuple):
    """Two stories by their ids.

    Attributes:
        violating: Violates the invariant.
        near_miss: Does not.
        misreading: How somebody would read the law who takes the near miss for a violation.
    """

    violating: str
    near_miss: str
    misreading: str
