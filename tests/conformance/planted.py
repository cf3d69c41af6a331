"""Errors to plant in the cleaner: what someone could get wrong, one after the other in a file.

A comparison that never fails proves nothing. So each of these errors is made in a copy of the
product, and the random logs must notice it (`tests.conformance.noticing`). Every error is one that
a reader could overlook: a bound off by one, a case forgotten, a field that is not carried over.

In `planted.patch` an error is what the cleaner does wrong, in words behind `#`, the file below
`sim/` that it is made in, and lines of that file as a patch has them, which occur there once.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class Planted(NamedTuple):
    """One error.

    Attributes:
        what: What the cleaner does wrong, in words.
        module: The file it is made in, below `sim/`.
        right: Lines of it that occur exactly once.
        wrong: What to write instead.
    """

    what: str
    module: str
    right: str
    wrong: str

    def plant(self, source: str) -> str:
        """The module's text with the error in it.

        Raises:
            ValueError: The right lines are not there exactly once: the module has changed.
        """
        found = source.count(self.right)
        if found != 1:
            raise ValueError(f"{self.module} has {found} places for: {self.what}")
        return source.replace(self.right, self.wrong)


def _planted(error: str) -> Planted:
    what, module, *lines = error.rstrip("\n").split("\n")

    def with_sign(sign: str) -> str:
        return "".join(f"{line[1:]}\n" for line in lines if line[:1] in {"", " ", sign})

    return Planted(what, module, with_sign("-"), with_sign("+"))


_TEXT = Path(__file__).with_name("planted.patch").read_text(encoding="utf-8")
PLANTED = tuple(_planted(error) for error in re.split(r"^# ", _TEXT, flags=re.MULTILINE)[1:])
