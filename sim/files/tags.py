"""The `tags` of a story, a timed scenario or a log file: words to select files by."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sim.files.document import Place, as_list, shown

TAG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
_TAG = re.compile(TAG_PATTERN)
_OPERATORS = ("and", "or", "not")


def is_tag(word: str) -> bool:
    """Whether a word can be a tag: one that an expression such as `slow and not raft` can name."""
    return _TAG.fullmatch(word) is not None and word.lower() not in _OPERATORS


def tags_at(value: object, place: Place) -> tuple[str, ...]:
    """The tags in a file's `tags` field; null means none.

    Raises:
        BadInput: It is no list of words, or a word of it cannot be a tag or is given twice.
    """
    found = [] if value is None else as_list(value, place)
    for index, item in enumerate(found):
        place.at(index).check(tag_problem(item))
    place.check(tag_given_twice(found))
    return tuple(found)


def tag_given_twice(words: Sequence[str]) -> str | None:
    """What is wrong with tags one of which is given twice; None = nothing."""
    twice = next((word for index, word in enumerate(words) if word in words[:index]), None)
    return None if twice is None else f"{shown(twice)} is given twice"


def tag_problem(item: object) -> str | None:
    """What is wrong with a value as a tag; None = nothing."""
    if isinstance(item, str) and is_tag(item):
        return None
    return (
        f"{shown(item)} is no tag; allowed: letters, digits, and . _ - behind the first, "
        f"but not {', '.join(_OPERATORS[:-1])} or {_OPERATORS[-1]}"
    )
