"""Which revision of Replog makes a sweep, where that can be told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

VARIABLE = "REPLOG_REVISION"
"""Environment variable that says it of an installed package, as `make reports` does."""


PATIENCE_SECONDS = 60.0
"""How long git may take to look through the checkout."""


def revision() -> str | None:
    """`git describe` of the checkout that this package lies in; None = there is none.

    An installed package lies in none, and goes by the variable REPLOG_REVISION. The checkout is
    trusted, for its code is what runs here; filters that it configures (git lfs) may run, too.
    """
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return os.environ.get(VARIABLE)
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false"]
    command += ["describe", "--always", "--tags", "--dirty"]
    # Variables of git, as inside a hook, would have it look at another repository.
    surroundings = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    try:
        found = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_SECONDS,
            env={**surroundings, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"},
        )
    except (OSError, subprocess.SubprocessError):
        return os.environ.get(VARIABLE)
    return found.stdout.strip() or None
