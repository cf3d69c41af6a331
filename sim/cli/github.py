"""What commands do where GitHub Actions runs them, as its environment variables say."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sim.cli.output import beside, complain
from sim.cli.streams import beneath


def hand_over(page: str, annotations: Iterable[str], *, as_json: bool) -> None:
    """Add a page of Markdown to the summary of the job, and print annotations.

    With JSON on stdout, the annotations go to stderr.
    """
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as added:
                added.write(page)
        except OSError as error:
            complain(f"GITHUB_STEP_SUMMARY: {summary}: {error.strerror}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations:
            print(line, file=beneath(beside(as_json)))
