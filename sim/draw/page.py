"""A run as one HTML file that needs nothing else: opens at the violation, and steps through it.

No network, no library: a style sheet and a script of its own, at most 1 MB altogether.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sim.draw.cells import printable
from sim.draw.film import LINE_MAX, Film, explained
from sim.draw.looks import LOOKS, NOTES, both, css, meant, variables
from sim.draw.scene import Case
from sim.draw.shapes import inline_of, sample
from sim.errors import BadInput
from sim.foreign.documents import json_text
from sim.foreign.lines import shown

if TYPE_CHECKING:
    import jinja2

PAGE_BYTES_MAX = 1_000_000
"""A page is no larger than this; what is left out for it is said on the page."""


def html(
    case: Case,
    *,
    title: str = "",
    unit: str = "",
    against: Case | None = None,
    explanation: Sequence[str] | None = None,
    everything: bool = False,
    command: str = "",
) -> str:
    """A run as an HTML page of at most 1 MB that works offline; needs `replog[report]`.

    It opens at the violation, steps by keys and a slider from event to event and from violation to
    violation, and shows the offset grid, the space-time diagram, the violation's sentence and its
    explanation; light and dark, wide and narrow.

    Args:
        case: The run, what to open at, and all that is violated.
        title: Heads the page.
        unit: What times count: `ms`, `step`.
        against: The same case under other rules, shown beside it and stepped with it by time.
        explanation: Lines that tell why, of the violation to open at; None = `sim.explain` tells.
        everything: All events, not only those that led to a violation.
        command: What makes this page again.

    Raises:
        BadInput: Jinja2 is not installed, or even the last event alone takes more than 1 MB.
    """
    cases = [_whole(each) for each in (case, against) if each is not None]
    told = [explained(each) for each in cases]
    template = _template()
    style = f":root{{{variables()}}}{css(both, 'svg ')}{css(both, '.cell', cells=True)}"
    most: int | None = None
    while most is None or most > 0:
        films = [
            Film(each, case.violation, why, everything=everything, most=most)
            for each, why in zip(cases, told, strict=True)
        ]
        contents = [film.content() for film in films]
        page = template.render(
            title=printable(title) or "A run",
            unit=unit,
            command=command,
            films=films,
            chosen=_chosen(contents[0], explanation),
            data=_as_script(contents),
            legend=_legend(),
            style=f"{style}\n{_own('page.css')}",
            script=_own("page.js"),
        )
        size = len(page.encode())
        if size <= PAGE_BYTES_MAX:
            return page
        count = max(len(film.positions) for film in films)
        count = min(count, most or count)
        most = min(count * PAGE_BYTES_MAX // size * 9 // 10, count - 1)
    raise BadInput(f"{title}: even one moment of its logs takes more than {PAGE_BYTES_MAX:,} bytes")


def _whole(case: Case) -> Case:
    """A case with the violation to look at among all of its violations."""
    own = () if case.violation is None else (case.violation,)
    there = case.violation in case.violations
    return replace(case, violations=case.violations if there else (*own, *case.violations))


def _chosen(content: dict[str, Any], explanation: Sequence[str] | None) -> dict[str, Any]:
    """The violation to open at, with these lines that tell why; without one, the lines alone."""
    there = content["chosen"] >= 0
    chosen = content["violations"][content["chosen"]] if there else {"s": "", "w": []}
    if explanation is not None:
        chosen["w"] = [printable(line, longest=LINE_MAX) for line in explanation]
    return chosen


def _legend() -> list[tuple[str, str]]:
    """All signs with their meanings, then what notes in cells mean, which have no sign."""
    signs = [
        (inline_of(sample(name), alternative=text), text) for text, name in meant(LOOKS).items()
    ]
    notes = [note for note in NOTES.values() if note[0] != "…"]  # a page has all columns
    return [*signs, *[("", note) for note in notes]]


def _own(name: str) -> str:
    """A file of our own that is part of the page."""
    return (files("sim.draw") / "templates" / name).read_text(encoding="utf-8")


def _as_script(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends one, or begins a comment."""
    return json_text(value, separators=(",", ":")).replace("<", "\\u003c")


def _template() -> jinja2.Template:
    try:
        import jinja2
    except ModuleNotFoundError:
        raise BadInput("an HTML page needs jinja2: pip install 'replog[report]'") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.draw", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")
