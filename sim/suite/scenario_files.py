"""Which files of a folder are scenarios, by the `format` that each of them says it has."""

from __future__ import annotations

import re
from pathlib import Path

from sim.errors import BadInput
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT, STORY_FORMAT

SUFFIXES = (".yaml", ".yml", ".json")
IN_A_SUITE = (STORY_FORMAT, SCENARIO_FORMAT, LOG_FORMAT)
"""What a suite runs."""
_FORMAT = re.compile(r"""^\s*["']?format["']?\s*:\s*["']?([\w./-]+)""", re.MULTILINE)
_FORMAT_INLINE = re.compile(r"""["']format["']\s*:\s*["']([\w./-]+)["']""")


def format_of(path: Path) -> str | None:
    """The value of the file's `format` field; None when it has none.

    Raises:
        BadInput: The file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: cannot be read: not UTF-8 text") from None
    found = _FORMAT.search(text) or _FORMAT_INLINE.search(text)
    return found.group(1) if found else None


def scenario_files(folder: Path) -> list[Path]:
    """All stories, timed scenarios and log files below `folder`, sorted by path.

    Raises:
        BadInput: It is no folder, or holds none.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder")
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and format_of(path) in IN_A_SUITE
    ]
    if not found:
        raise BadInput(f"{folder}: no scenario files; they say format: {' or '.join(IN_A_SUITE)}")
    return found
