"""Traces of real changes: writing one out of a git repository, and reading them as workloads."""

from sim.changelog.git import GitChangelog, write_git_changelog
from sim.changelog.reader import Change, read_changes

__all__ = ["Change", "GitChangelog", "read_changes", "write_git_changelog"]
