"""`replog draw`: a picture of a story, a timed scenario or a row of a sweep."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from sim.cli.arguments import (
    Command,
    GivenRules,
    Output,
    RunId,
    plugin_arguments,
    rule_values,
    shipped,
)
from sim.cli.output import EXIT_INCONCLUSIVE, complain, tell, width
from sim.cli.signatures import Argument
from sim.errors import BadInput, did_you_mean
from sim.foreign import shell

if TYPE_CHECKING:
    from sim.api.recorded import Recorded
    from sim.api.scenarios import Scenario
    from sim.api.timelines import Timeline
    from sim.check import Violation

_RULES = 6
"""So many of the rules that tell two cases apart are named."""
_KINDS = (".html", ".svg", ".png", ".txt")


def draw(
    source: Annotated[Path, Argument(shipped, "FILE|DIR")],
    run_id: RunId = None,
    *,
    output: Output = None,
    invariant: Annotated[str | None, Argument(metavar="NAME")] = None,
    against: Annotated[list[str] | None, Argument(metavar="NAME=VALUE")] = None,
    everything: Annotated[bool, Argument(flags=("--all",))] = False,
    step: Annotated[list[str] | None, Argument(metavar="NUMBER=CAPTION")] = None,
    rule: GivenRules = None,
) -> int:
    """Draw what every replica holds, at the violation or at chosen steps, and what led to it.

    Without -o a text of a dozen lines is printed.

    Args:
        source: A story or a timed scenario, or the id of a shipped one; or the folder of a sweep.
        run_id: Of a sweep: the run's number.
        output: The file to write: .html steps through the run in a browser, .svg and .png are for
            documents, .txt is what is printed without -o.
        invariant: Draw the first violation of this one. Default: the first violation, or the end.
        against: Of an HTML page: the same case under another rule, or preset=NAME, beside it; may
            be given more than once.
        everything: All events, not only those that led to the violation.
        step: Of an SVG or PNG: the logs after this step, or ms, with a caption; more than once.
    """
    from sim.files.atomic import check_writable, replacing

    kind = _kind(output, against=against, step=step)
    if output is not None:
        check_writable(output, what=f"--output {output}", read=[source])
    subject = _subject(source, run_id, _values(rule, "--rule"))
    drawn = subject.timeline(invariant, _values(against, "--against"))
    moments = _captions(step)
    title = "" if moments else drawn.title
    drawn = replace(drawn, title=title, everything=everything, moments=moments)
    if output is None:
        print(_strip(drawn, columns=width()))
    elif kind == ".txt":
        with replacing(output) as file:
            file.write(f"{_strip(drawn, columns=100)}\n".encode())
    else:
        drawn.save(output)
    if output is not None:
        tell(str(output))
    if not drawn.recorded.cut_off:
        return 0
    complain(f"inconclusive: {drawn.recorded.reason}; this is what happened until then")
    return EXIT_INCONCLUSIVE


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


def _values(given: list[str] | None, option: str) -> dict[str, str]:
    """Rules with their values, all of which there are."""
    from sim.rules import settings_from

    values = rule_values(given)
    settings_from(values, where=option)
    return values


class _Subject(NamedTuple):
    """What the command line names.

    Attributes:
        scenario: Under the rules that it names.
        title: Heads a picture.
        words: Those of the command that name it.
    """

    scenario: Scenario
    title: str
    words: Sequence[object]

    def timeline(self, invariant: str | None, against: Mapping[str, str]) -> Timeline:
        """The picture; beside it the same case under the rules of `against`, if there are any."""
        from sim.api.recorded import record
        from sim.api.timelines import Timeline

        words = [*self.words, *([f"--invariant={invariant}"] if invariant else [])]
        words += [f"--against={name}={value}" for name, value in against.items()]
        command = f"replog draw {shell.command([*words, *plugin_arguments()])}"
        unit, other = self.scenario.unit, self.scenario.with_rules(**against)
        name, its_name = _names(self.scenario, other, against)
        found = record(self.scenario)
        about, beside = _chosen(found, invariant), None
        if against:
            theirs = record(other)
            same = [each for each in theirs.seen if about and each.invariant == about.invariant]
            beside = Timeline(its_name, self.title, unit, theirs, same[0] if same else None)
        drawn = Timeline(name, self.title, unit, found, about, against=beside, command=command)
        return replace(drawn, decided=True)


def _subject(source: Path, run_id: int | None, rules: Mapping[str, str]) -> _Subject:
    from sim.api.scenarios import Scenario, load

    options = [f"--rule={name}={value}" for name, value in rules.items()]
    if not source.is_dir():
        if run_id is not None:
            raise BadInput(f"{source}: not a folder: a RUN_ID goes with the folder of a sweep")
        scenario = load(source)
        title = scenario.title or scenario.id
        return _Subject(scenario.with_rules(**rules), title, [source, *options])
    if run_id is None:
        raise BadInput(f"{source}: a folder: give RUN_ID, the number of a run, too")
    from sim.sweeps.one_run import scenario_of_run

    scenario = Scenario("timed", scenario_of_run(source, run_id))
    title = f"run {run_id} of {source}: {scenario.id}"
    return _Subject(scenario.with_rules(**rules), title, [source, run_id, *options])


def _chosen(recorded: Recorded, invariant: str | None) -> Violation | None:
    """The violation to draw; one that is not judged only where it is named."""
    if invariant is None:
        return next(iter(recorded.violations), None)
    found = {each.invariant: each for each in reversed(recorded.seen)}
    if invariant not in found:
        names = list(dict.fromkeys(each.invariant for each in recorded.seen))
        violated = f"violated are {', '.join(names)}" if names else "nothing is violated"
        hint = did_you_mean(invariant, names)
        raise BadInput(f"--invariant {invariant}: not violated here{hint}; {violated}")
    return found[invariant]


def _names(one: Scenario, other: Scenario, changed: Mapping[str, str]) -> list[str]:
    """What tells two cases apart: values of the rules that were changed; of a preset, by it."""
    from sim.rules.rules import shown

    mine, theirs = one.rules, other.rules
    names = [*changed] if "preset" not in changed else [n for n in mine if mine[n] != theirs[n]]
    more = f" and {len(names) - _RULES} more rules" if len(names) > _RULES else ""
    return [
        ", ".join(f"{name}={shown(rules[name])}" for name in names[:_RULES]) + more
        for rules in (mine, theirs)
    ]


def _strip(drawn: Timeline, *, columns: int) -> str:
    from sim.draw import strip

    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    text = strip(drawn.as_case(), columns, ascii_only=not encoding.startswith("utf"))
    about = drawn.violation
    return text if about is None else f"{about.invariant}: {about.sentence}\n{text}"


COMMANDS = {"draw": Command(draw, is_one_run=True)}
