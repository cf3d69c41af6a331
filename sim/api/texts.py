"""Lines of text that a notebook shows as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from sim.api.markup import plain_text, shorten

if TYPE_CHECKING:
    from sim.explain import Explanation as Told


class Explanation(Sequence[str]):
    """Why an invariant is violated, a line each; `print` shows all of it.

    Attributes:
        about: The invariant.
        decided_by: The fact that decided, in one sentence.
    """

    def __init__(self, told: Told) -> None:
        """What `sim.explain` tells of a violation."""
        self.about = told.violation.invariant
        self.decided_by = told.decided_by
        self._told = told
        self._lines = tuple(told.lines)

    def as_json(self) -> dict[str, Any]:
        """The same as data, as `replog explain --json` prints it."""
        return self._told.as_json()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """A line, or several."""
        return self._lines[index]

    def __len__(self) -> int:
        """How many lines."""
        return len(self._lines)

    def __iter__(self) -> Iterator[str]:
        """Line by line."""
        return iter(self._lines)

    def __str__(self) -> str:
        """All lines."""
        return "\n".join(self._lines)

    def __repr__(self) -> str:
        """One line for people."""
        return f"Explanation({self.about}, {len(self)} lines: {shorten(self.decided_by, 120)})"

    def _repr_html_(self) -> str:
        return plain_text(str(self))
