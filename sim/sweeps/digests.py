"""The digests of a block's runs, once more in a file of their own beside its table.

To say whether a run came out the same, a replay compares one digest. Reading it out of the table
takes Arrow, which takes longer to import than the run takes. The file has a line per run, in order
of `run_id`; its name begins with an underscore, so that readers of the table pass it over.
"""

from __future__ import annotations

from collections.abc import Iterable

LINE_LENGTH = 33
"""32 hex digits, or as many dashes for a run that did not end, and the end of the line."""
_NONE = "-" * (LINE_LENGTH - 1)


def digests_name_of(part: str) -> str:
    """The name of the file of digests beside a part of `runs`."""
    folder, _, name = part.rpartition("/")
    return f"{folder}/_{name.removesuffix('.parquet')}.digests"


def digests_text(digests: Iterable[str | None]) -> str:
    """The content of the file: a line per run; None = the run did not end."""
    return "".join(f"{digest or _NONE}\n" for digest in digests)


def digest_in(content: bytes, place: int) -> str | None:
    """The digest of the run in that place of its block, from 0; None = the run did not end.

    Raises ValueError when there is no such line.
    """
    line = content[place * LINE_LENGTH : (place + 1) * LINE_LENGTH].decode("ascii")
    if len(line) != LINE_LENGTH or not line.endswith("\n"):
        raise ValueError(f"no line {place + 1}")
    digest = line.rstrip("\n")
    return None if digest == _NONE else digest
