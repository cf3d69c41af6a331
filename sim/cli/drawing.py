"""`replog draw`: a picture of a story, a timed scenario or a row of a sweep."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sim.cli.arguments import (
    Command,
    Parser,
    plugin_arguments,
    rule_values,
    shipped,
    take_output,
    take_plugins,
    take_rules,
)
from sim.cli.bounding import take_bounds
from sim.cli.output import EXIT_INCONCLUSIVE, complain, tell, width
from sim.cli.values import Number
from sim.errors import BadInput, did_you_mean
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.foreign import shell
from sim.limits import RUN

if TYPE_CHECKING:
    from sim.check import Violation
    from sim.draw import Case
    from sim.rules import Rules
    from sim.scenario.model import Scenario
    from sim.trace import Event

_NAMED = 3
"""So many violated invariants are named in a verdict."""
_RULES = 6
"""So many of the rules that tell two cases apart are named."""
_KINDS = (".html", ".svg", ".png", ".txt")


def _draw_takes(parser: Parser) -> None:
    parser.add_argument(
        "source",
        type=shipped,
        metavar="FILE|DIR",
        help="A story or a timed scenario, or the id of a shipped one; or the folder of a sweep.",
    )
    parser.add_argument(
        "run_id",
        type=Number(0, limit=RUN),
        nargs="?",
        metavar="RUN_ID",
        help="Of a sweep: the run's number.",
    )
    take_output(
        parser,
        "The file to write: .html steps through the run in a browser, .svg and .png are for "
        "documents, .txt is what is printed without -o.",
    )
    parser.add_argument(
        "--invariant",
        metavar="NAME",
        help="Draw the first violation of this one. Default: the first violation, or the end.",
    )
    parser.add_argument(
        "--against",
        action="append",
        metavar="NAME=VALUE",
        help="Of an HTML page: the same case under another rule, or preset=NAME, beside it; may be "
        "given more than once.",
    )
    parser.add_argument(
        "--all",
        dest="everything",
        action="store_true",
        help="All events, not only those that led to the violation.",
    )
    parser.add_argument(
        "--step",
        action="append",
        metavar="NUMBER=CAPTION",
        help="Of an SVG or PNG: the logs after this step, or ms, with a caption; more than once.",
    )
    take_rules(parser)
    take_plugins(parser)
    take_bounds(parser)


def draw(
    source: Path,
    run_id: int | None,
    *,
    output: Path | None,
    invariant: str | None,
    against: list[str] | None,
    everything: bool,
    step: list[str] | None,
    rule: list[str] | None,
) -> int:
    """Draw what every replica holds, at the violation or at chosen steps, and what led to it.

    Without -o a text of a dozen lines is printed.
    """
    from sim.files.atomic import check_writable, replacing

    kind = _kind(output, against=against, step=step)
    if output is not None:
        check_writable(output, what=f"--output {output}", read=[source])
    subject = _Subject(source, run_id, rule_values(rule))
    values = rule_values(against)
    drawn = subject.drawn(invariant=invariant, named=values)
    if kind == ".html":
        other = subject.against(values, drawn.case.violation) if values else None
        content = _page(drawn, other, everything=everything)
    elif kind == ".txt":
        text = _strip(drawn.case, columns=width() if output is None else 100)
        if output is None:
            print(text)
            return subject.status()
        content = f"{text}\n".encode()
    else:
        content = _picture(drawn, kind, _captions(step), everything=everything)
    assert output is not None
    with replacing(output) as file:
        file.write(content)
    tell(str(output))
    return subject.status()


def _kind(output: Path | None, *, against: object, step: object) -> str:
    """What to make, by the name of the file."""
    kind = ".txt" if output is None else output.suffix.lower()
    if kind not in _KINDS:
        raise BadInput(f"--output {output}: expected a name that ends in {', '.join(_KINDS)}")
    if against and kind != ".html":
        raise BadInput("--against: only an HTML page shows two cases; give -o NAME.html")
    if step and kind not in (".svg", ".png"):
        raise BadInput("--step: only pictures show chosen steps; give -o NAME.svg or NAME.png")
    return kind


def _captions(step: list[str] | None) -> dict[int, str]:
    captions = {}
    for text in step or []:
        number, equals, caption = text.partition("=")
        if not equals or not number.isdecimal():
            raise BadInput(f"--step {text}: expected NUMBER=caption")
        captions[int(number)] = caption
    return captions


class _Drawn(NamedTuple):
    """A run, and how the picture of it is headed."""

    case: Case
    title: str
    unit: str
    command: str


class _Subject:
    """What the command line names: a file, or a row of a sweep."""

    def __init__(self, source: Path, run_id: int | None, rules: Mapping[str, str]) -> None:
        from sim.suite import format_of

        self._source = source
        self._run_id = run_id
        self._rules = dict(rules)
        self._is_folder = source.is_dir()
        if self._is_folder and run_id is None:
            raise BadInput(f"{source}: a folder: give RUN_ID, the number of a run, too")
        if not self._is_folder and run_id is not None:
            raise BadInput(f"{source}: not a folder: a RUN_ID goes with the folder of a sweep")
        found = SCENARIO_FORMAT if self._is_folder else format_of(source)
        if found == LOG_FORMAT:
            raise BadInput(f"{source}: format: {found}: one log without a cluster is not drawn")
        if found not in (STORY_FORMAT, SCENARIO_FORMAT):
            allowed = f"{STORY_FORMAT} or {SCENARIO_FORMAT}"
            raise BadInput(f"{source}: format: {found or 'missing'}; expected {allowed}")
        self._is_story = found == STORY_FORMAT
        self._cut_off: str | None = None

    def drawn(self, *, invariant: str | None, named: Mapping[str, str]) -> _Drawn:
        """The run itself; `named` are rules to be told from those of a case beside it."""
        case, title = self._run({})
        violation = _chosen(case, invariant)
        assert case.rules is not None
        case = replace(case, violation=violation, name=_name(case.rules, self._compared(named)))
        words: list[object] = [self._source]
        words += [] if self._run_id is None else [self._run_id]
        words += [f"--rule={name}={value}" for name, value in self._rules.items()]
        words += [f"--invariant={invariant}"] if invariant else []
        words += [f"--against={name}={value}" for name, value in named.items()]
        command = f"replog draw {shell.command([*words, *plugin_arguments()])}"
        unit = "step" if self._is_story else "ms"
        return _Drawn(case, title, unit, command)

    def status(self) -> int:
        """0, or that of a run that was cut off: it was drawn as far as it came."""
        if self._cut_off is None:
            return 0
        complain(f"inconclusive: {self._cut_off}; this is what happened until then")
        return EXIT_INCONCLUSIVE

    def against(self, rules: Mapping[str, str], wanted: Violation | None) -> Case:
        """The same case under other rules, at the same kind of violation if it has one."""
        case, _ = self._run(rules)
        same = [each for each in case.violations if wanted and each.invariant == wanted.invariant]
        assert case.rules is not None
        name = _name(case.rules, self._compared(rules))
        return replace(case, violation=same[0] if same else None, name=name)

    def _compared(self, rules: Mapping[str, str]) -> Sequence[str]:
        """The names of the rules that tell two cases apart; of a preset those it changes."""
        if "preset" not in rules:
            return list(rules)
        one, other = self._run({})[0].rules, self._run(rules)[0].rules
        assert one is not None
        assert other is not None
        mine, theirs = one.as_dict(), other.as_dict()
        return [name for name, value in mine.items() if theirs[name] != value]

    def _run(self, changed: Mapping[str, str]) -> tuple[Case, str]:
        """Run it with some rules replaced: the case, and its title."""
        rules = {**self._rules, **changed}
        return self._run_story(rules) if self._is_story else self._run_timed(rules)

    def _run_story(self, rules: Mapping[str, str]) -> tuple[Case, str]:
        from sim.draw import Case
        from sim.rules import rules_from
        from sim.story import load_story, run_story

        story = load_story(self._source)
        if rules:
            story = replace(story, rules=rules_from(rules, base=story.rules, where="--rule"))
        run = run_story(story)
        self._cut_off = run.reason
        verdict = _verdict(run.violations)
        judged = run.violations[0] if run.violations else None
        case = Case(run.events, judged, story.rules, run.labels, "", verdict, run.seen)
        return case, story.title or story.id

    def _run_timed(self, rules: Mapping[str, str]) -> tuple[Case, str]:
        from sim.draw import Case
        from sim.rules import settings_from
        from sim.scenario.model.promises import promise_of
        from sim.timed_run import run_scenario

        scenario, title = self._scenario()
        if rules:
            settings = settings_from(rules, base=scenario.settings, where="--rule")
            scenario = scenario.with_rules(settings)
        events: list[tuple[int, Event]] = []
        run = run_scenario(scenario, trace=events)
        self._cut_off = run.reason if run.cut_off else None
        case = Case(
            events,
            run.violations[0] if run.violations else None,
            promise_of(scenario)[0],
            verdict=_verdict(run.violations),
            violations=run.seen,
            skews=scenario.clock_skews,
        )
        return case, title

    def _scenario(self) -> tuple[Scenario, str]:
        if self._run_id is not None:
            from sim.sweeps.one_run import scenario_of_run

            scenario = scenario_of_run(self._source, self._run_id)
            return scenario, f"run {self._run_id} of {self._source}: {scenario.id}"
        from sim.check.checker import known_invariants
        from sim.check.coverage import SITUATIONS
        from sim.scenario.file.load import load_scenario

        scenario = load_scenario(
            self._source, known_invariants=known_invariants(), known_reached=SITUATIONS
        )
        return scenario, scenario.title or scenario.id


def _chosen(case: Case, invariant: str | None) -> Violation | None:
    """The violation to draw; one that is not judged only where it is named."""
    if invariant is None:
        return case.violation
    found = list(dict.fromkeys(each.invariant for each in case.violations))
    if invariant not in found:
        violated = f"violated are {', '.join(found)}" if found else "nothing is violated"
        hint = did_you_mean(invariant, found)
        raise BadInput(f"--invariant {invariant}: not violated here{hint}; {violated}")
    return next(each for each in case.violations if each.invariant == invariant)


def _name(rules: Rules, names: Sequence[str]) -> str:
    values = rules.as_dict()
    told = [f"{name}={_value(values[name])}" for name in names if name in values]
    more = f" and {len(told) - _RULES} more rules" if len(told) > _RULES else ""
    return ", ".join(told[:_RULES]) + more


def _value(value: object) -> str:
    """A rule's value as it is written on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _verdict(violations: Sequence[Violation]) -> str:
    names = list(dict.fromkeys(each.invariant for each in violations))
    if not names:
        return "Nothing is violated."
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Violated: {', '.join(names[:_NAMED])}{more}."


def _strip(case: Case, *, columns: int) -> str:
    from sim.draw import strip

    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    drawn, violation = (
        strip(case, columns, ascii_only=not encoding.startswith("utf")),
        case.violation,
    )
    return drawn if violation is None else f"{violation.invariant}: {violation.sentence}\n{drawn}"


def _picture(drawn: _Drawn, kind: str, captions: Mapping[int, str], *, everything: bool) -> bytes:
    from sim.draw import png, svg

    make: Callable[..., str | bytes] = svg if kind == ".svg" else png
    content = make(
        drawn.case,
        title="" if captions else drawn.title,
        note="" if captions else _decided(drawn),
        unit=drawn.unit,
        captions=captions,
        everything=everything,
    )
    return content if isinstance(content, bytes) else content.encode()


def _decided(drawn: _Drawn) -> str:
    """The fact that decided, in a sentence."""
    case = drawn.case
    if case.violation is None:
        return ""
    return f"Decided by: {case.explained(case.violation).decided_by}."


def _page(drawn: _Drawn, other: Case | None, *, everything: bool) -> bytes:
    from sim.draw import html

    page = html(
        drawn.case,
        title=drawn.title,
        unit=drawn.unit,
        against=other,
        everything=everything,
        command=drawn.command,
    )
    return page.encode()


COMMANDS = {"draw": Command(draw, _draw_takes, is_one_run=True)}
