"""The workflow of GitHub Actions that runs a suite: a file that works as it is."""

from __future__ import annotations

from pathlib import Path

WORKFLOW = Path(__file__).with_name("github_workflow.yml")
"""To be copied to `.github/workflows/`."""
