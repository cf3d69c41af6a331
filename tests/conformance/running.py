"""Parts that the command lines share: the stage of a run on stderr, and its exit status."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console

from sim.errors import BadInput

_STDERR = Console(stderr=True, soft_wrap=True, highlight=False)


def say(stage: str) -> None:
    """Prints the present stage of a run."""
    _STDERR.print(stage)


def exit_status(run: Callable[[], int]) -> int:
    """Status of a run: its own, 2 if it cannot run, 130 if interrupted."""
    try:
        return run()
    except BadInput as error:
        _STDERR.print(str(error), style="red")
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return 130
