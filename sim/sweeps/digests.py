"""The digests of a block's runs, once more in a file of their own beside its table.

To say whether a run came out the same, a replay compares one digest. Reading it out of the table
takes Arrow, which takes longer to import than the run takes. The file has a line per run, in order
of `run_id`; its name begins with an underscore, so that readers of the table pass it over.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

LINE_LENGTH = 33
"""32 hex digits, or as many dashes for a run that did not end, and the end of the line."""
_NONE = "-" * (LINE_LENGTH - 1)


def digests_file_of(block_file: Path) -> Path:
    """Beside which file of `runs` it is."""
    return block_file.with_name(f"_{block_file.stem}.digests")


def digests_text(digests: Iterable[str | None]) -> str:
    """The content of the file: a line per run; None = the run did not end."""
    return "".join(f"{digest or _NONE}\n" for digest in digests)


def digest_in(path: Path, place: int) -> str | None:
    """The digest of the run in that place of its block, from 0; None = the run did not end.

    Raises:
        OSError: There is no such file, as in sweeps that are older than these files.
        ValueError: It has no such line.
    """
    with path.open(encoding="ascii") as file:
        file.seek(place * LINE_LENGTH)
        line = file.read(LINE_LENGTH)
    if len(line) != LINE_LENGTH or not line.endswith("\n"):
        raise ValueError(f"{path}: no line {place + 1}")
    digest = line.rstrip("\n")
    return None if digest == _NONE else digest
