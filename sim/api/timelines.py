"""A run as a picture: the logs of the replicas when something breaks, and the events before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.api.markup import shorten
from sim.errors import BadInput
from sim.simulate.run import Run

if TYPE_CHECKING:
    from sim.check import Violation
    from sim.diagnose.draw import DrawnCase

SUFFIXES = (".html", ".svg", ".png", ".txt")
"""Endings of files that a timeline can be saved as."""


@dataclass(frozen=True)
class Timeline:
    """A picture of a run for Jupyter; `print` shows it as text.

    Attributes:
        name: Name of the run among others.
        title: Title of the scenario.
        unit: Unit of times: `ms` or `step`.
        recorded: The run.
        violation: The violation that is shown; None for the end, of a timed run before it settled.
        moments: Caption by time: shows the logs at these times instead.
        against: The same case under other rules; `save("page.html")` shows it beside this one.
        command: Command that runs it again; may be empty.
        decided: True to say the deciding fact in a sentence below the picture.
        missed: Expectations of the file that were not met, at the top of the page.
    """

    name: str
    title: str
    unit: str
    recorded: Run
    violation: Violation | None
    moments: Mapping[int, str] | None = None
    against: Timeline | None = None
    command: str = ""
    decided: bool = False
    missed: tuple[str, ...] = ()

    def at(self, *moments: int, **captions: int) -> Timeline:
        """The logs at some moments side by side: times in ms, or numbers of steps.

        A name for a moment is its caption: `at(before=11, after=12)`.
        """
        named = dict.fromkeys(moments, "") | {when: name for name, when in captions.items()}
        return replace(self, moments=dict(sorted(named.items())))

    @property
    def svg(self) -> str:
        """The picture as an SVG file."""
        from sim.diagnose.draw import svg

        return svg(self.as_case(), **self._how)

    @property
    def png(self) -> bytes:
        """The picture as a PNG file. Raises BadInput when matplotlib is not installed."""
        from sim.diagnose.draw import png

        return png(self.as_case(), **self._how)

    @property
    def page(self) -> str:
        """The picture as a self-contained HTML page, with keys and a slider to step through it.

        Raises:
            BadInput: Jinja2 is not installed.
        """
        from sim.diagnose.draw import html

        return html(
            self.as_case(),
            title=self.title or self.name,
            unit=self.unit,
            against=None if self.against is None else self.against.as_case(),
            command=self.command,
        )

    def as_case(self) -> DrawnCase:
        """The case that is drawn."""
        from sim.diagnose.draw import DrawnCase

        found = DrawnCase.of(self.recorded, self.violation, name=self.name, missed=self.missed)
        return replace(found, events=self.recorded.events) if self.moments else found

    def save(self, path: str | Path) -> Path:
        """Writes the picture as `.html` (a page to step through), `.svg`, `.png` or `.txt`.

        Returns the path.

        Raises:
            BadInput: Another ending, or it cannot be written.
        """
        from sim.files.atomic import replacing

        where = Path(path)
        if where.suffix.lower() not in SUFFIXES:
            allowed = ", ".join(SUFFIXES)
            raise BadInput(f"{where}: a picture has one of these endings: {allowed}")
        with replacing(where) as file:
            file.write(self._content(where.suffix.lower()))
        return where

    def _content(self, suffix: str) -> bytes:
        if suffix == ".png":
            return self.png
        texts = {".html": lambda: self.page, ".svg": lambda: self.svg, ".txt": lambda: f"{self}\n"}
        return texts[suffix]().encode()

    @property
    def _how(self) -> dict[str, Any]:
        named = self.decided and not self.moments
        return {
            "title": self.title,
            "note": self.as_case().decided_by if named else "",
            "unit": self.unit,
            "captions": self.moments,
        }

    def __str__(self) -> str:
        """Draws the logs of all replicas as a text of about a dozen lines."""
        return self.as_text()

    def as_text(self, columns: int = 100) -> str:
        """The violation, and the logs of all replicas, as a text of about a dozen lines.

        Args:
            columns: Width of a line; 40 at least.
        """
        from sim.diagnose.draw import strip

        about, text = self.violation, strip(self.as_case(), columns)
        return text if about is None else f"{about.invariant}: {about.sentence}\n{text}"

    def __repr__(self) -> str:
        """Returns one line for people."""
        if self.violation is None:
            return f"Timeline({self.name}: {len(self.recorded.events)} events, nothing violated)"
        return f"Timeline({self.name}: {shorten(self.violation.sentence, 120)})"

    def _repr_html_(self) -> str:
        from sim.diagnose.draw import figure_html

        return figure_html(self.as_case(), **self._how)
