"""Lines of text that a notebook shows as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.api.markup import plain_text, shorten

if TYPE_CHECKING:
    from sim.explain import Explanation as Told


class Explanation(tuple[str, ...]):  # noqa: SLOT001 - a tuple's can have no more slots
    """Why an invariant is violated, a line each; `print` shows all of it.

    Attributes:
        about: The invariant.
        decided_by: The fact that decided, in one sentence.
    """

    about: str
    decided_by: str
    _told: Told

    def __new__(cls, told: Told) -> Explanation:
        """What `sim.explain` tells of a violation."""
        made = super().__new__(cls, told.lines)
        made.about, made.decided_by, made._told = told.violation.invariant, told.decided_by, told
        return made

    def as_json(self) -> dict[str, Any]:
        """The same as data, as `replog explain --json` prints it."""
        return self._told.as_json()

    def __str__(self) -> str:
        """All lines."""
        return "\n".join(self)

    def __repr__(self) -> str:
        """One line for people."""
        return f"Explanation({self.about}, {len(self)} lines: {shorten(self.decided_by, 120)})"

    def _repr_html_(self) -> str:
        return plain_text(str(self))
