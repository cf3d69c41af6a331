"""A run as one HTML file that needs nothing else: opens at the violation, and steps through it.

No network, no library: a style sheet and a script of its own, at most 1 MB altogether.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sim.check import Violation
from sim.draw.case import Case
from sim.draw.film import Film
from sim.draw.frames import Events
from sim.draw.looks import css, measures, variables
from sim.draw.shapes import inline_of
from sim.draw.words import printable
from sim.errors import BadInput
from sim.explain import explain
from sim.foreign.documents import json_text
from sim.foreign.lines import shown
from sim.rules import Rules

if TYPE_CHECKING:
    import jinja2

PAGE_BYTES_MAX = 1_000_000
"""A page is no larger than this; what is left out for it is said on the page."""
_LINE_MAX = 2_000
_DECIDED = "decided by: "
"""How the line of an explanation begins that says the deciding fact."""


def html(
    events: Events,
    violation: Violation | None = None,
    *,
    rules: Rules | None = None,
    labels: Mapping[int, str] | None = None,
    title: str = "",
    unit: str = "",
    name: str = "",
    verdict: str = "",
    against: Case | None = None,
    explanation: Sequence[str] | None = None,
    everything: bool = False,
    command: str = "",
) -> str:
    """A run as an HTML page of at most 1 MB that works offline; needs `replog[report]`.

    It opens at the violation, steps by keys and a slider, and shows the offset grid, the space-time
    diagram, the violation's sentence and its explanation; light and dark, wide and narrow.

    Args:
        events: (when, event) of the run or the story, in order.
        violation: What to open at; None = the end.
        rules: Of the run: they say which version decides and what marks a tombstone.
        labels: Of a story: uid -> label.
        title: Heads the page.
        unit: What times count: `ms`, `step`.
        name: What tells the case from `against`: `fix=none`.
        verdict: What came of it, in a sentence.
        against: The same case under other rules, shown beside it and stepped with it by time.
        explanation: Lines that tell why; None = `sim.explain.explain` tells, as if
            all clocks of a run in ms were right.
        everything: All events, not only those that led to the violation.
        command: What makes this page again.

    Raises:
        BadInput: Jinja2 is not installed, or even the last event alone takes more than 1 MB.
    """
    case = Case(events, violation, rules, labels, name, verdict)
    lines = explanation
    if lines is None:
        lines = []
        if violation is not None:
            skews = dict[str, int]() if unit == "ms" else None
            lines = explain(events, violation, rules=rules, skews=skews)
    about = {
        "title": printable(title) or "A run",
        "unit": unit,
        "sentence": "" if violation is None else _line(violation.sentence),
        "invariant": "" if violation is None else violation.invariant,
        "at": 0 if violation is None else violation.at,
        "decided": _line(next((line for line in lines if line.startswith(_DECIDED)), "")),
        "explanation": [_line(line) for line in lines],
        "command": _line(command),
    }
    cases = [case] if against is None else [case, against]
    template = _template()
    most: int | None = None
    while most is None or most > 0:
        films = [Film(each, everything=everything, most=most, like=violation) for each in cases]
        page = template.render(about | _parts(cases, films))
        size = len(page.encode())
        if size <= PAGE_BYTES_MAX:
            return page
        shown = max(film.shown for film in films)
        most = min(shown * PAGE_BYTES_MAX // size * 9 // 10, shown - 1)
    raise BadInput(f"{title}: even one moment of its logs takes more than {PAGE_BYTES_MAX:,} bytes")


def _line(text: str) -> str:
    """A text that may name keys and values, made safe."""
    return printable(text, longest=_LINE_MAX)


def _parts(cases: Sequence[Case], films: Sequence[Film]) -> dict[str, Any]:
    from markupsafe import Markup

    folder = files("sim.draw") / "templates"
    contents = [film.content() for film in films]
    style = (
        f":root{{{variables(dark=False)}}}{measures('svg ')}{css(dark=False, within='svg ')}"
        f"@media (prefers-color-scheme:dark){{{_dark(':root:not([data-theme=light])')}}}"
        f"{_dark(':root[data-theme=dark]')}\n" + (folder / "page.css").read_text(encoding="utf-8")
    )
    return {
        "style": Markup(style),  # noqa: S704 - our own file and table
        "script": Markup((folder / "page.js").read_text(encoding="utf-8")),  # noqa: S704 - our own
        "data": Markup(_as_script(contents)),  # noqa: S704 - no < is in it
        "cases": [
            {
                "name": _line(case.name),
                "verdict": _line(case.verdict),
                "shown": film.shown,
                "left_out": film.left_out,
                "which": film.which,
                "total": film.total,
                "diagram": Markup(  # noqa: S704 - made of escaped texts
                    inline_of(film.diagram, alternative="Space-time diagram", margin=0)
                ),
            }
            for case, film in zip(cases, films, strict=True)
        ],
    }


def _dark(root: str) -> str:
    """The dark side of all colours, where a selector holds."""
    return f"{root}{{{variables(dark=True)}}}{css(dark=True, within=f'{root} svg ')}"


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
