"""Pairs of stories: one violates an invariant, its neighbour does not (`pairs.yaml`)."""

from pathlib import Path
from typing import NamedTuple

from sim.files.yaml_text import parse_yaml


class Pair(NamedTuple):
    """Two stories by their ids.

    Attributes:
        violating: Violates the invariant.
        near_miss: Does not.
        misreading: How somebody would read the invariant who takes the near miss for a violation.
    """

    violating: str
    near_miss: str
    misreading: str


_FILE = Path(__file__).with_suffix(".yaml")
PAIRS: dict[str, list[Pair]] = {
    name: [Pair(*pair) for pair in pairs]
    for name, pairs in parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data.items()
}
"""Invariant -> its pairs."""
