"""Which revision of Replog makes a sweep, where that can be told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

VARIABLE = "REPLOG_REVISION"
"""Environment variable that says it of an installed package, as `make reports` does."""


def revision() -> str | None:
    """`git describe` of the checkout that this package lies in; None = there is none.

    An installed package lies in none, and goes by the variable REPLOG_REVISION.
    """
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return os.environ.get(VARIABLE)
    # Variables of git, as inside a hook, would have it look at another repository.
    surroundings = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    found = subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--tags", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
        env=surroundings,
    )
    return found.stdout.strip() or os.environ.get(VARIABLE)
