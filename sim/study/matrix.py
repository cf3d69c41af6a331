"""Matrices: scenarios under every value of one rule, combined with values of other rules.

One table shows which invariants hold under which rules, and at what cost.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import chain, compress, count, product
from math import prod
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from urllib.parse import quote

from sim.check import Checker, Violation
from sim.check.checker import safety_invariants, story_invariants
from sim.check.counters import RunCounters
from sim.errors import BadInput, did_you_mean
from sim.files import markdown
from sim.files.formats import SCENARIO_FORMAT, STORY_FORMAT
from sim.files.limits import COMBINATIONS
from sim.protocol.rules import RULES, Rules, RuleValue, check_value, listed, shown
from sim.simulate.run import Run, conclusive, run_of
from sim.simulate.scenario.model import Scenario
from sim.simulate.story import Story
from sim.study.suite import format_of, scenario_files
from sim.study.suite.scenario_files import content_at
from sim.study.suite.scenario_files import under as under_rules

AS_WRITTEN = "as written"

PRICES = {
    "bytes_retained": "bytes retained",
    "records_retained": "records retained",
    "empty_batches": "empty batches left",
    "bytes_replicated": "bytes replicated",
    "gaps_learned": "gaps reported to followers",
    "log_ends_persisted": "log ends written down",
    "stale_reads_last": "keys for which a reader ends on a stale record",
}
"""Counters that are added up over the scenarios, with their names in tables."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A rule and the values to try, in order."""

    rule: str
    values: tuple[RuleValue, ...]


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The outcome of a scenario under one rule set.

    Attributes:
        violated: Invariants that were violated, in order of detection; where a scenario names the
            invariants that are checked, only those.
        counters: See `sim.check.counters.COUNTERS`.
        open: True where the run was judged only up to a bound, or up to where it left the
            durability contract: what is not violated is not known to hold.
    """

    violated: tuple[str, ...]
    counters: Mapping[str, int]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """The outcomes of a scenario.

    Attributes:
        path: Its file.
        id: Its id.
        outcomes: By condition, then by value of the varied rule.
        twins: Ids of scenarios that differ from it only in the varied rule.
    """

    path: Path
    id: str
    outcomes: tuple[tuple[MatrixCell, ...], ...]
    twins: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """True where the varied rule changes what is violated, with the other rules as written."""
        known = (outcome for outcome in self.outcomes[0] if not outcome.open)
        return len({frozenset(outcome.violated) for outcome in known}) > 1


@dataclass(frozen=True)
class Matrix:
    """The outcome of every scenario under every rule set.

    Attributes:
        varied: The varied rule and its values.
        conditions: Changes of other rules: `as written`, then each combination as `rule=value`,
            joined by commas.
        lines: A line per scenario, in order of the files; scenarios that differ only in the varied
            rule have one line.
    """

    varied: Choice
    conditions: tuple[str, ...]
    lines: tuple[Line, ...]

    def violating(self, invariant: str, condition: int, value: int) -> int:
        """The number of scenarios that violate an invariant under a condition and a value."""
        return sum(invariant in line.outcomes[condition][value].violated for line in self.lines)

    def blamed(self, invariant: str, condition: int, value: int) -> bool:
        """True if a scenario violates an invariant under this value and not under another."""
        return any(
            invariant in row[value].violated
            and any(invariant not in one.violated and not one.open for one in row)
            for row in (line.outcomes[condition] for line in self.lines)
        )

    @property
    def violated(self) -> tuple[str, ...]:
        """Every invariant that is violated anywhere, in order of name."""
        cells = chain.from_iterable(row for line in self.lines for row in line.outcomes)
        return tuple(sorted({name for cell in cells for name in cell.violated}))

    @cached_property
    def decided(self) -> tuple[str, ...]:
        """The invariants that some values of the varied rule violate, and others do not."""
        places = [*product(range(len(self.conditions)), range(len(self.varied.values)))]
        return tuple(
            name for name in self.violated if any(self.blamed(name, *place) for place in places)
        )

    def prices(self, counter: str) -> list[int]:
        """A counter for each value, over all scenarios together; other rules are as written."""
        rows = ([cell.counters[counter] for cell in line.outcomes[0]] for line in self.lines)
        return [sum(column) for column in zip(*rows, strict=True)]


def choice_of(text: str, *, option: str) -> Choice:
    """A `rule` with all its values, or `rule=value,value` with some.

    Raises:
        BadInput: Unknown rule or value, or a rule whose values cannot be listed and are not given.
    """
    name, equals, given = text.partition("=")
    spec = RULES.get(name)
    if spec is None:
        raise BadInput(
            f"{option} {text}: unknown rule{did_you_mean(name, RULES)}; allowed: {listed(RULES)}"
        )
    if not equals and not spec.values:
        raise BadInput(f"{option} {text}: say which values: {name}=VALUE,VALUE")
    if not equals:
        return Choice(name, spec.values)
    values = [check_value(name, value, where=option) for value in given.split(",")]
    return Choice(name, tuple(dict.fromkeys(values)))


def choices_of(text: str, *, option: str) -> tuple[Choice, ...]:
    """Rules joined by `+`, to be combined with each other; see `choice_of`."""
    return tuple(choice_of(part, option=option) for part in text.split("+"))


def make_matrix(
    paths: Sequence[Path],
    varied: Choice,
    *,
    under: Sequence[Sequence[Choice]] = (),
    rules: Mapping[str, str] | None = None,
    skip: Sequence[str] = (),
) -> Matrix:
    """Runs every story and timed scenario of some files and folders under each value.

    Args:
        paths: Files or folders; log files in them are left out.
        varied: The rule to vary.
        under: Groups of other rules; each combination of values of a group is a condition.
        rules: Values, or a preset, that replace those of the files.
        skip: Patterns of names of files to leave out, such as `kip280_0[1-6]*`.

    Raises:
        BadInput: A file has a mistake, there is none, a rule is named twice, or there are too many
            combinations.
    """
    beside = [choice for group in under for choice in group]
    names = [varied.rule, *[choice.rule for choice in beside], *(rules or {})]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"{twice}: named twice; a rule is varied, combined, or fixed")
    combined = (1 + sum(prod(len(one.values) for one in group) for group in under)) * len(
        varied.values
    )
    problem = COMBINATIONS.too_many(combined, "combinations of rules")
    if problem is not None:
        raise BadInput(problem)
    changes: list[dict[str, RuleValue]] = [{}]
    for group in under:
        tried = product(*([(one.rule, value) for value in one.values] for one in group))
        changes += map(dict, tried)
    grid = [[{**change, varied.rule: value} for value in varied.values] for change in changes]
    cases: dict[object, list[tuple[Path, Story | Scenario]]] = {}
    for path in _files(paths, skip):
        given = {**(rules or {}), varied.rule: shown(varied.values[0])}
        case = under_rules(content_at(path), given, where="--rule")
        cases.setdefault(_what_counts(case), []).append((path, case))
    lines = tuple(
        Line(path, case.id, _outcomes(case, grid), tuple(twin.id for _, twin in twins))
        for (path, case), *twins in cases.values()
    )
    return Matrix(varied, tuple(map(_label, changes)), lines)


def _label(change: Mapping[str, RuleValue]) -> str:
    return ", ".join(f"{name}={shown(value)}" for name, value in change.items()) or AS_WRITTEN


def _files(paths: Iterable[Path], skip: Sequence[str]) -> list[Path]:
    found = dict.fromkeys(file for path in paths for file in scenario_files(path))
    kept = [
        path
        for path in found
        if format_of(path) in (STORY_FORMAT, SCENARIO_FORMAT)
        and not any(fnmatchcase(path.stem, pattern) for pattern in skip)
    ]
    if not kept:
        raise BadInput(f"{', '.join(map(str, paths))}: no story and no timed scenario")
    return kept


def _what_counts(case: Story | Scenario) -> str:
    """All of a scenario but what it says about itself."""
    said = ("id", "title", "source", "expect")
    counting = {f.name: getattr(case, f.name) for f in fields(case) if f.name not in said}
    return f"{counting} {case.expect.checked}"


def judged(run: Run, also: Collection[str] = ()) -> list[Violation]:
    """The violations by which a scenario is compared under several rules.

    Of a story liveness is judged, too: it says itself when it is at rest.

    Args:
        run: The run.
        also: Further invariants to judge, such as those that a scenario names.
    """
    is_story = run.unit == "step"
    names = {*(story_invariants(liveness=True) if is_story else safety_invariants()), *also}
    return [one for one in (run.seen if is_story else run.violations) if one.invariant in names]


def _outcomes(
    case: Story | Scenario, grid: Sequence[Sequence[Mapping[str, RuleValue]]]
) -> tuple[tuple[MatrixCell, ...], ...]:
    @cache
    def outcome(rules: Rules) -> MatrixCell:
        """The outcome of the case under other rules."""
        run = conclusive(run_of(case.with_rules(rules), keep_events=False))
        counters = run.counters
        if run.unit == "step":  # whose run counts nothing
            checker = Checker(rules, ())
            counted = RunCounters(checker)
            for step, event in run.events:
                checker.on(step, event)
            counters = counted.values({"events": len(run.events)})
        checked = case.expect.checked or ()
        names = dict.fromkeys(violation.invariant for violation in judged(run, checked))
        violated = (name for name in names if not checked or name in checked)
        return MatrixCell(tuple(violated), counters, run.reason is not None)

    base = case.rules
    return tuple(tuple(outcome(base.with_values(values)) for values in row) for row in grid)


Row = dict[str, str]
MATRIX_FORMAT = "replog-matrix/1"
HOLDS = "holds"
"""Shown for a scenario that violates no invariant."""
OPEN = "inconclusive"
"""Shown for a scenario of which that is not known."""
NEVER_WORSE = "never worse"
"""Shown where no scenario violates the invariant under this value and not under another."""


def as_document(matrix: Matrix) -> dict[str, Any]:
    """A matrix as data."""

    def by_value(row: Sequence[MatrixCell]) -> dict[str, Any]:
        return _by_value(
            matrix, [None if one.open and not one.violated else list(one.violated) for one in row]
        )

    return {
        "format": MATRIX_FORMAT,
        "rule": matrix.varied.rule,
        "values": [shown(value) for value in matrix.varied.values],
        "conditions": list(matrix.conditions),
        "decided": list(matrix.decided),
        "prices": {counter: _by_value(matrix, matrix.prices(counter)) for counter in PRICES},
        "scenarios": [
            {
                "path": line.path.as_posix(),
                "id": line.id,
                "twins": list(line.twins),
                "violated": dict(zip(matrix.conditions, map(by_value, line.outcomes), strict=True)),
            }
            for line in matrix.lines
        ],
    }


def _by_value(matrix: Matrix, cells: Iterable[Any]) -> dict[str, Any]:
    """Cells by the values of the varied rule, in their order."""
    return dict(zip(map(shown, matrix.varied.values), cells, strict=True))


def invariants_table(matrix: Matrix) -> list[Row]:
    """A row per invariant that the rule decides: the number of scenarios with a violation.

    The other rules are as written.
    """
    values = range(len(matrix.varied.values))
    return [
        {"invariant": name}
        | _by_value(matrix, [str(matrix.violating(name, 0, at)) for at in values])
        for name in matrix.decided
    ]


def conditions_table(matrix: Matrix) -> list[Row]:
    """A row per invariant that the rule decides: letters of the conditions that blame a value.

    See `letters` and `Matrix.blamed`.
    """
    named, values = letters(matrix), range(len(matrix.varied.values))

    def blamed(name: str, at: int) -> str:
        failing = [matrix.blamed(name, place, at) for place in range(len(named))]
        return " ".join(compress(named, failing)) or NEVER_WORSE

    return [
        {"invariant": name} | _by_value(matrix, [blamed(name, at) for at in values])
        for name in matrix.decided
    ]


def letters(matrix: Matrix) -> dict[str, str]:
    """The conditions by their letters: A is the first one; AA follows Z, AAA follows ZZ."""
    many = (map("".join, product(ascii_uppercase, repeat=size)) for size in count(1))
    return dict(zip(chain.from_iterable(many), matrix.conditions, strict=False))


def scenarios_table(matrix: Matrix, *, start: Path | None = None) -> list[Row]:
    """A row per scenario in which the values differ: the first violated invariant, how many more.

    With `start`, the names are links in Markdown, relative to that folder.
    """
    return [
        {"scenario": _named(line, start)} | _by_value(matrix, map(_short, line.outcomes[0]))
        for line in matrix.lines
        if line.differs
    ]


def _named(line: Line, start: Path | None) -> str:
    if start is None:
        return line.id
    address = quote(Path(os.path.relpath(line.path, start)).as_posix(), errors="surrogateescape")
    return f"[{markdown.text(line.id)}]({address})"


def _short(outcome: MatrixCell) -> str:
    first, more = outcome.violated[:1], len(outcome.violated) - 1
    return f"{first[0]}{f' +{more}' if more else ''}" if first else OPEN if outcome.open else HOLDS


def prices_table(matrix: Matrix) -> list[Row]:
    """A row per cost: its sum over all scenarios, and its ratio to that of the first value."""

    def against(price: int, base: int) -> str:
        ratio = f" (×{price / base:.3f})" if base and price != base else ""
        return f"{price:,}{ratio}"

    rows = []
    for counter, title in PRICES.items():
        base, *_ = prices = matrix.prices(counter)
        cells = [against(price, base) for price in prices]
        rows.append({"price": title} | _by_value(matrix, cells))
    return rows


def as_markdown(matrix: Matrix, *, command: str, folder: Path) -> str:
    """A page of Markdown; links to scenarios are relative to `folder`."""
    rule, total = markdown.code(matrix.varied.rule), len(matrix.lines)
    table = scenarios_table(matrix, start=folder)
    untouched = [name for name in matrix.violated if name not in matrix.decided]
    about = (
        f"Every scenario was run under each value of {rule}; nothing is drawn at random. "
        "A scenario that says what is checked is judged by that alone; scenarios that differ in "
        f"{rule} alone count once."
    )
    conditions = (
        f"A letter is a condition under which all {total} scenarios were run. It is in a cell "
        "where a scenario violates the invariant under this value and not under another; "
        f"“{NEVER_WORSE}” where no scenario does."
    )
    costs = (
        f"Added up over the {total} scenarios, in the model's bytes, with the other rules as "
        "written; in brackets against the first value."
    )
    ends = (
        f"The value changes what {len(table)} of {total} scenarios violate, with the other rules "
        "as written. Named is the invariant that is violated first, and how many follow."
    )
    parts = [
        f"# What {rule} decides, in {total} scenarios",
        f"Made by\n\n{markdown.block([f'$ {command}'], language='console')}",
        about,
        "## Which values are worse than others, under which other rules",
        conditions,
        "\n".join(
            f"* {letter}: {name if name == AS_WRITTEN else markdown.code(name)}"
            for letter, name in letters(matrix).items()
        ),
        _markdown(conditions_table(matrix)),
        f"The value makes no difference to: {', '.join(untouched)}." if untouched else "",
        "## How many scenarios violate them, with the other rules as written",
        _markdown(invariants_table(matrix)),
        "## What it costs",
        costs,
        _markdown(prices_table(matrix)),
        "## Scenario by scenario",
        ends,
        _markdown(table),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown(rows: Sequence[Mapping[str, str]]) -> str:
    if not rows:
        return "None."
    return markdown.table(map(markdown.text, rows[0]), (row.values() for row in rows))
