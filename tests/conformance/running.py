"""Parts that the command lines share: the stage of a run on stderr, and its exit status."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rich.console import Console

from sim.errors import BadInput

Say: TypeAlias = Callable[[str], None]
"""Prints the present stage of a run."""


def exit_status(run: Callable[[Say], int]) -> int:
    """Status of a run that prints to stderr: its own, 2 if it cannot run, 130 if interrupted."""
    stderr = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        return run(stderr.print)
    except BadInput as error:
        stderr.print(str(error), style="red")
        return 2
    except KeyboardInterrupt:
        stderr.print("interrupted")
        return 130
