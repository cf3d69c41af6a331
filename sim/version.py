"""The version of this package, and its revision where that is known.

It imports no other module of the package, so that everything may ask for the version.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

__version__ = "0.1.0"


VARIABLE = "REPLOG_REVISION"
"""Environment variable with the revision of an installed package, as `make reports` sets it."""


class Made(NamedTuple):
    """The Replog that makes a sweep.

    Attributes:
        version: Of the package.
        revision: `git describe` of its checkout; None where it is not known.
    """

    version: str
    revision: str | None

    def same_as(self, other: Made) -> bool:
        """True for equal versions, and equal revisions where both are known."""
        known = None not in (self.revision, other.revision)
        return self.version == other.version and (not known or self.revision == other.revision)

    def __str__(self) -> str:
        """Version and revision, for messages."""
        return f"Replog {self.version}" + (f" ({self.revision})" if self.revision else "")


@cache
def made_by() -> Made:
    """The Replog of this process."""
    return Made(__version__, revision())


def revision() -> str | None:
    """`git describe` of the checkout that this package lies in; None without one.

    An installed package lies in none, and goes by the variable REPLOG_REVISION.
    """
    import subprocess

    root = Path(__file__).parents[1]
    if not (root / ".git").exists():
        return os.environ.get(VARIABLE)
    # Git's variables, which a hook has, would make it look at another repository.
    surroundings = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    command = ["git", "-C", str(root), "describe", "--always", "--tags", "--dirty"]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, check=False, env=surroundings
        )
    except FileNotFoundError:  # git is not installed
        return os.environ.get(VARIABLE)
    return found.stdout.strip() or os.environ.get(VARIABLE)
