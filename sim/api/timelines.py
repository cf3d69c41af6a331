"""A run as a picture: what the replicas hold when something breaks, and what led there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.api.markup import shorten
from sim.errors import BadInput
from sim.files.extras import install
from sim.simulate.run import Run

if TYPE_CHECKING:
    from sim.check import Violation
    from sim.diagnose.draw import Case

SUFFIXES = (".html", ".svg", ".png", ".txt")
"""What a timeline can be saved as."""


@dataclass(frozen=True)
class Timeline:
    """A picture of a run that shows itself in Jupyter; `print` shows it as text.

    Attributes:
        name: What tells the run from others.
        title: The scenario's.
        unit: What times count: `ms` or `step`.
        recorded: What happened.
        violation: What it points at; None = it shows the end, of a timed run before it settled.
        moments: When -> what to look at: shows the logs at these moments instead.
        everything: Whether all events are drawn, and not only those that led to the violation.
        against: The same case under other rules; `save("page.html")` shows it beside this one.
        command: What runs it again.
        decided: Whether a picture says in a sentence what decided.
        missed: What its file expects and where it is not so, for the page to open with.
    """

    name: str
    title: str
    unit: str
    recorded: Run
    violation: Violation | None
    moments: Mapping[int, str] | None = None
    everything: bool = False
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

    def all_events(self) -> Timeline:
        """The same with every event, and not only those that led to the violation."""
        return replace(self, everything=True)

    @property
    def svg(self) -> str:
        """As an SVG file."""
        from sim.diagnose.draw import svg

        return svg(self.as_case(), **self._how)

    @property
    def png(self) -> bytes:
        """As a PNG file. Raises BadInput when matplotlib is not installed."""
        from sim.diagnose.draw import png

        return png(self.as_case(), **self._how)

    @property
    def page(self) -> str:
        """As an HTML page that needs nothing else, is stepped through by keys and by a slider.

        Raises:
            BadInput: Jinja2 is not installed.
        """
        from sim.diagnose.draw import html

        return html(
            self.as_case(),
            title=self.title or self.name,
            unit=self.unit,
            against=None if self.against is None else self.against.as_case(),
            everything=self.everything,
            command=self.command,
        )

    def as_case(self) -> Case:
        """What is drawn."""
        from sim.diagnose.draw import Case

        found = Case.of(self.recorded, self.violation, name=self.name, missed=self.missed)
        return replace(found, events=self.recorded.events) if self.moments else found

    def save(self, path: str | Path) -> Path:
        """Write it as `.html` (a page to step through), `.svg`, `.png` or `.txt`; its path.

        Raises:
            BadInput: Another ending, or it cannot be written.
        """
        from sim.files.atomic import replacing

        where = Path(path)
        if where.suffix not in SUFFIXES:
            allowed = ", ".join(SUFFIXES)
            raise BadInput(f"{where}: a picture has one of these endings: {allowed}")
        with replacing(where) as file:
            file.write(self._content(where.suffix))
        return where

    def _content(self, suffix: str) -> bytes:
        if suffix == ".png":
            return self.png
        texts = {".html": lambda: self.page, ".svg": lambda: self.svg, ".txt": lambda: f"{self}\n"}
        return texts[suffix]().encode()

    def slider(self) -> Any:
        """A slider for Jupyter that steps through the logs, moment by moment.

        Raises:
            BadInput: ipywidgets is not installed.
        """
        try:
            widgets = import_module("ipywidgets")
        except ModuleNotFoundError:
            raise BadInput(
                f"a slider needs ipywidgets: {install('notebook')}; without it, "
                ".at(moment) shows a moment, and .save('page.html') has a slider of its own"
            ) from None
        moments = sorted({when for when, _ in self.recorded.events})
        start = moments[-1] if self.violation is None else self.violation.at
        slider = widgets.SelectionSlider(
            options=moments,
            value=start,
            description=self.unit,
            continuous_update=False,
            layout={"width": "100%"},
        )
        shown = widgets.HTML()

        def show(change: Mapping[str, Any]) -> None:
            shown.value = self.at(change["new"])._repr_html_()

        slider.observe(show, names="value")
        show({"new": start})
        return widgets.VBox([slider, shown])

    @property
    def _how(self) -> dict[str, Any]:
        told = self.decided and not self.moments
        return {
            "title": self.title,
            "note": self.as_case().decided_by if told else "",
            "unit": self.unit,
            "captions": self.moments,
            "everything": self.everything,
        }

    def __str__(self) -> str:
        """What every replica held, as a text of about a dozen lines."""
        from sim.diagnose.draw import strip

        return strip(self.as_case())

    def __repr__(self) -> str:
        """One line for people."""
        if self.violation is None:
            return f"Timeline({self.name}: {len(self.recorded.events)} events, nothing violated)"
        return f"Timeline({self.name}: {shorten(self.violation.sentence, 120)})"

    def _repr_html_(self) -> str:
        from sim.diagnose.draw import figure_html

        return figure_html(self.as_case(), **self._how)


def picture(
    run: Run,
    found: Violation | None,
    name: str,
    title: str,
    command: str | None,
    *,
    missed: bool = False,
) -> Timeline:
    """What a run looks like at a violation, or at its end.

    Args:
        run: The run.
        found: The violation; None = its end.
        name: What tells it from others.
        title: What heads it.
        command: What runs it again; None = there is none.
        missed: Whether a page opens with what the scenario expects and where it is not so.
    """
    said: list[str] = []
    if missed and run.exit_code:
        from sim.diagnose.failures.failure import not_as_expected

        said = not_as_expected(run)
    return Timeline(name, title, run.unit, run, found, command=command or "", missed=tuple(said))
