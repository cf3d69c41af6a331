"""One thing to try: a command line, and the files beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """What is tried.

    Attributes:
        argv: The words after `replog`. A byte that is not UTF-8 is a lone surrogate, as in
            `sys.argv`.
        files: What lies in the folder where the command is run, by its path there.
        outputs: Names that the command may make or replace, with all that is below them.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()

    def lay(self, folder: Path) -> None:
        """Put the files into `folder`; a name that the file system refuses is left out."""
        for name, content in self.files.items():
            try:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except (OSError, ValueError):
                continue
