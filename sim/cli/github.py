"""What commands do where GitHub Actions runs them, as its environment variables say."""

from __future__ import annotations

import os
from pathlib import Path

from sim.cli.output import complain


def on_github() -> bool:
    """Whether this process is a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def add_to_job_summary(page: str) -> None:
    """Adds a page of Markdown to the summary of the job, if there is one."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if not summary:
        return
    try:
        with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as added:
            added.write(page)
    except OSError as error:
        complain(f"GITHUB_STEP_SUMMARY: {summary}: {error.strerror}")
