"""What stands behind an option: numbers within bounds, paths, and values that are given once."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import Any

from sim.limits import Limit, in_short, whole_number

_NUMBER = re.compile(r"-?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][-+]?[0-9]{1,4})?")
FILE_NAME_BYTES = 255
"""Longest name of a file or a folder (NAME_MAX of Linux)."""
PATH_BYTES = 4_095
"""Longest path (PATH_MAX of Linux, less the byte that ends it)."""


def told(text: str) -> str:
    """An argument as a message repeats it: as it was typed, if that is short and printable."""
    plain = text.isprintable() and text and len(text) == len(in_short(text)) - 2
    return text if plain else in_short(text)


class Number:
    """Reads a number, a whole one unless `whole` is false, within inclusive bounds.

    A `limit` is the upper bound of an option that has none of its own.
    """

    def __init__(
        self,
        at_least: int | None = None,
        at_most: int | None = None,
        *,
        whole: bool = True,
        limit: Limit | None = None,
    ) -> None:
        self._at_least = at_least
        self._at_most = at_most if limit is None else limit.most
        self._name = "" if limit is None else f" ({limit.name})"
        self._is_limited = limit is not None
        self._whole = whole

    @property
    def bounds(self) -> str:
        """Such as `1 to 100`; empty when there are none."""
        if self._at_most is None or self._is_limited:
            return "" if self._at_least is None else f"from {self._at_least}"
        return f"{self._at_least} to {self._at_most}"

    def __call__(self, text: str) -> int | float:
        """The number in `text`; raises ArgumentTypeError when it is none, or out of bounds."""
        number = self._read(text)
        if number is None:
            kind = "whole number" if self._whole else "number"
            raise argparse.ArgumentTypeError(f"{told(text)}: expected a {kind}")
        if self._at_least is not None and not number >= self._at_least:
            raise argparse.ArgumentTypeError(
                f"{told(text)}: expected a number greater than or equal to {self._at_least}"
            )
        if self._at_most is not None and number > self._at_most:
            raise argparse.ArgumentTypeError(
                f"{told(text)}: expected a number less than or equal to {self._at_most}{self._name}"
            )
        return number

    def _read(self, text: str) -> int | float | None:
        if self._whole:
            return whole_number(text)
        if not _NUMBER.fullmatch(text):
            return None
        number = float(text)
        return number if math.isfinite(number) else None


def path_of(text: str) -> Path:
    """A path; raises ArgumentTypeError for none at all, and for one that no file can have."""
    if not text:
        raise argparse.ArgumentTypeError("an empty path; the current folder is .")
    path = Path(text)
    longest = max((len(part.encode(errors="surrogateescape")) for part in path.parts), default=0)
    whole = len(text.encode(errors="surrogateescape"))
    if longest > FILE_NAME_BYTES or whole > PATH_BYTES:
        raise argparse.ArgumentTypeError(f"{told(text)}: longer than the path of a file may be")
    return path


class StoreOnce(argparse.Action):
    """Stores a value as argparse does, but of an option that is given two values none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._given: Any = None

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Raises BadInput, by way of the parser, for a second value."""
        if option_string is not None:
            if self._given is not None and self._given != values:
                parser.error(f"{option_string}: given twice, {self._given} and {values}")
            self._given = values
        setattr(namespace, self.dest, values)
