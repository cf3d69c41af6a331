"""Damage of a partition's files: what is wrong, where, and what could be read before it."""

from __future__ import annotations

from pathlib import Path

from sim.errors import BadInput


class Damaged(BadInput):
    """A file that no broker leaves behind as it is."""

    def __init__(self, file: Path, what: str, *, position: int | None = None) -> None:
        """Names the file, the position in bytes where the damage begins, and what is wrong."""
        where = "" if position is None else f": position {position}"
        super().__init__(f"{file}{where}: {what}")


class FilesChanged(BadInput):
    """Segments of a partition were replaced while they were read, as by its cleaner."""
