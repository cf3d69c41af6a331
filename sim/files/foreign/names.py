"""Names of files and folders made from foreign text."""

from __future__ import annotations

import os

from sim.files.foreign.lines import is_plain

LONGEST_BYTES = 150
"""Longest name in bytes: file systems take 255, and suffixes and numbers are added to it."""


def file_name(text: str, *, instead: str) -> str:
    """A name of one file: letters, digits, dots, dashes and underscores, no dot or dash around.

    Args:
        text: Anything; other characters become dashes.
        instead: The name when nothing is left.
    """
    plain = "".join([one if _may_be(one) else "-" for one in text])
    while len(os.fsencode(plain)) > LONGEST_BYTES:
        plain = plain[: max(len(plain) * LONGEST_BYTES // len(os.fsencode(plain)), 1)]
    return plain.strip(".-") or instead


def _may_be(one: str) -> bool:
    if one.isascii():
        return one.isalnum() or one in "._-"
    try:
        os.fsencode(one)
    except UnicodeEncodeError:
        return False  # a locale without this letter
    return one.isalnum() and is_plain(one)
