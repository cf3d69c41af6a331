"""Gates: limits on what a sweep violates, so that a build can fail by it.

A sweep counts violations, and none of them is a failure by itself: some rule sets are there to show
them. A gate says which rate is too much:

* `fail_on`: no run violates this. One run that does is enough.
* `budgets`: no more than this share of runs violates this. A gate fails when the runs show that the
  rate is above (an exact binomial test), passes when they show that it is not (the upper limit of
  its exact interval), and is undecided with too few runs for either.

The test is one-sided and exact. Budgets are corrected for being asked many times (Holm 1979): the
chance that a sound sweep fails any of them is at most 5 %. Each environment is judged by itself:
all have the same draws, so that their runs are not independent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Literal, NamedTuple

from sim.files.shipped import check_extra

check_extra("gates need", "report", "numpy", "scipy", "pyarrow")

from scipy import special

from sim.check.checker import known_invariants, safety_invariants
from sim.check.violation import FAMILIES
from sim.errors import BadInput, did_you_mean
from sim.files import markdown
from sim.study.suite.reports import error_command
from sim.study.sweep import numbers
from sim.study.sweep.table import SweepFolder

ANY = "any"
"""The name for a violation of any invariant."""
ABOUT = "about"
"""The name for what the plan is about."""
LEVEL = 0.05
"""Largest chance that a sound sweep fails any of its budgets."""

Outcome = Literal["passed", "undecided", "failed"]
ORDER: tuple[Outcome, ...] = ("passed", "undecided", "failed")
"""What failed comes last, where a reader's eye is."""


class Budget(NamedTuple):
    """The largest share of the judged runs that may violate something.

    Attributes:
        name: A family, an invariant, `any` or `about`.
        limit: Between 0 and 1, both excluded.
    """

    name: str
    limit: float


class Gates(NamedTuple):
    """Limits that a sweep has to keep.

    Attributes:
        fail_on: Names that no judged run may violate.
        budgets: Names that few runs may violate.
        rule_sets: Labels of the rule sets that are judged; empty for all.
    """

    fail_on: tuple[str, ...] = ()
    budgets: tuple[Budget, ...] = ()
    rule_sets: tuple[str, ...] = ()

    def check(
        self, labels: Collection[str], about: Collection[str], seen: Collection[str] = ()
    ) -> None:
        """Refuses gates by which a sweep cannot be judged.

        Args:
            labels: The rule sets of the sweep.
            about: What the plan is about; if empty, no gate may be named `about`.
            seen: Invariants that the sweep's folder names, beside those of this process.

        Raises:
            BadInput: A name that no violation can have, or a label that no rule set has.
        """
        known = [ANY, ABOUT, *FAMILIES, *sorted({*known_invariants(), *seen})]
        for name in (*self.fail_on, *(budget.name for budget in self.budgets)):
            if name not in known:
                raise BadInput(
                    f"{name}: no family and no invariant (replog list invariants)"
                    f"{did_you_mean(name, known)}; families: {', '.join(FAMILIES)}; or any, about"
                )
            if name in known_invariants() and name not in {*safety_invariants(), *seen}:
                raise BadInput(f"{name}: no run of a sweep judges it; replog list invariants")
            if name == ABOUT and not about:
                raise BadInput("about: the plan does not say what it is about; name a family")
        for name in self.rule_sets:
            if name not in labels:
                hint = f"{did_you_mean(name, labels)}; allowed: {', '.join(labels)}"
                raise BadInput(f"{name}: no rule set of this sweep{hint}")


def budget_in(text: str) -> Budget:
    """The budget in `NAME=SHARE%`. Raises BadInput unless it is between 0 % and 100 %."""
    name, _, share = (part.strip() for part in text.rpartition("="))
    wrong = f"--budget {text}: expected NAME=SHARE%, as in 'log divergence=0.5%'"
    if not name or not share.endswith("%"):
        raise BadInput(wrong)
    try:
        limit = float(share[:-1]) / 100
    except ValueError:
        raise BadInput(wrong) from None
    if limit == 0:
        raise BadInput(f"--budget {text}: to allow no run, use --fail-on {name!r}")
    if not 0 < limit < 1:
        raise BadInput(f"--budget {text}: a share is between 0 % and 100 %, both excluded")
    return Budget(name, limit)


class GateFinding(NamedTuple):
    """The comparison of one gate with the runs of one rule set in one environment.

    Attributes:
        gate: `fail-on` or `budget`, with its name and limit, as its option says it.
        rule_set: The label.
        environment: The name; empty in a sweep of one environment.
        violated: How many judged runs violate it.
        judged: How many runs have a verdict.
        shows: The lowest number of a run that violates it, for `replog run`; None without one.
        limit: The share that a budget allows; None for `fail-on`.
        adjusted_p: `p` of a budget, corrected for being asked many times (Holm); else 1.
    """

    gate: str
    rule_set: str
    environment: str
    violated: int
    judged: int
    shows: int | None
    limit: float | None
    adjusted_p: float = 1.0

    @property
    def p(self) -> float | None:
        """Probability of this many runs or more at the budgeted rate (exact binomial test)."""
        if self.limit is None or not self.judged:
            return None
        return float(special.bdtrc(self.violated - 1, self.judged, self.limit))

    @property
    def place(self) -> str:
        """The rule set, and the environment where there are several."""
        return ", ".join(filter(None, (self.rule_set, self.environment)))

    @property
    def high(self) -> float:
        """The upper limit of the rate: exact, one-sided (Clopper and Pearson 1934)."""
        others = self.judged - self.violated
        return float(special.betaincinv(self.violated + 1, others, 1 - LEVEL)) if others else 1.0

    @property
    def outcome(self) -> Outcome:
        """Outcome of the comparison."""
        if not self.judged:
            return "undecided"
        if self.limit is None:
            return "failed" if self.violated else "passed"
        if self.adjusted_p < LEVEL:
            return "failed"
        return "passed" if self.high <= self.limit else "undecided"

    @property
    def numbers(self) -> str:
        """The counts and the conclusion; never a bare zero."""
        if not self.judged:
            return "no run was judged: nothing is decided"
        runs, high = numbers.counted(self.judged, "run"), numbers.share(self.high)
        share = numbers.share(self.violated / self.judged)
        seen = f"{numbers.count(self.violated)} of {runs} ({share})"
        if self.limit is not None:
            follows = {
                "passed": "within the budget",
                "failed": f"above the budget ({numbers.p_value(self.adjusted_p)})",
                "undecided": "not decided with so few runs",
            }
            return f"{seen}, a rate of up to {high} is not excluded: {follows[self.outcome]}"
        if self.violated:
            return f"{seen}; first in run {self.shows}"
        return f"none of {runs}; a rate of up to {high} is not excluded"

    @property
    def text(self) -> str:
        """The comparison in one line, without its outcome."""
        return f"{self.gate} [{self.place}]: {self.numbers}"


class Verdict(NamedTuple):
    """The findings of all gates in a sweep.

    Attributes:
        folder: The sweep.
        findings: Every comparison, in order of the gates.
    """

    folder: SweepFolder
    findings: tuple[GateFinding, ...]

    @property
    def outcome(self) -> Outcome:
        """`failed` with a finding that did, else `undecided` with one that is, else `passed`."""
        return max((one.outcome for one in self.findings), key=ORDER.index, default="passed")

    @property
    def failed(self) -> list[GateFinding]:
        """The findings that failed."""
        return [one for one in self.findings if one.outcome == "failed"]

    def shown_by(self, one: GateFinding) -> str | None:
        """The command that repeats the first run that shows a finding; None without one."""
        return None if one.shows is None else self.folder.replay_command(one.shows)

    @property
    def reproduce(self) -> str | None:
        """The command that shows the first failure; None without one."""
        return next(filter(None, map(self.shown_by, self.failed)), None)

    @property
    def summary(self) -> str:
        """The outcome and how many comparisons had each, in one line."""
        outcomes = [one.outcome for one in self.findings]
        counts = ", ".join(f"{outcomes.count(one)} {one}" for one in ORDER if one in outcomes)
        comparisons = numbers.counted(len(outcomes), "comparison")
        return f"gates {self.outcome}: {comparisons}, {counts} (level {numbers.share(LEVEL)})"

    def lines(self) -> Iterator[str]:
        """Lines for a terminal: one for each finding, and the summary."""
        for one in sorted(self.findings, key=lambda one: ORDER.index(one.outcome)):
            outcome = "FAILED" if one.outcome == "failed" else one.outcome
            yield f"{outcome:9} {one.text}"
        yield self.summary

    def as_document(self) -> dict[str, Any]:
        """The verdict as JSON has it."""
        return {
            "gates": self.outcome,
            "level": LEVEL,
            "findings": [
                {**one._asdict(), "outcome": one.outcome, "text": one.text} for one in self.findings
            ],
            "reproduce": self.reproduce,
        }

    def as_markdown(self) -> str:
        """A heading and a table, with what failed first: a page is read from its top."""
        rows = [
            (outcome, *map(markdown.text, (one.gate, one.place, one.numbers)))
            for one in sorted(self.findings, key=lambda one: -ORDER.index(one.outcome))
            for outcome in ["**failed**" if one.outcome == "failed" else one.outcome]
        ]
        table = markdown.table(("", "gate", "runs", "what was counted"), rows)
        reproduce = f"Reproduce: {markdown.code(self.reproduce)}\n" if self.reproduce else ""
        return f"### {self.summary}\n\n{table}\n\n{reproduce}"

    def error_commands(self) -> Iterator[str]:
        """Annotations of GitHub Actions, one for each failure, with a run that shows it."""
        for one in self.failed:
            lines = filter(None, [one.text, self.shown_by(one)])
            yield error_command("\n".join(lines), title=f"replog gate: {one.gate}")


def judge(folder: SweepFolder, gates: Gates) -> Verdict:
    """Judges a finished sweep by gates. Raises BadInput as `Gates.check`."""
    labels = [one.label for one in folder.sweep.rule_sets]
    seen = {
        name
        for one in folder.statistics
        for entry in one["rule_sets"]
        for name in entry["counts"]["invariant"]
    }
    gates.check(labels, folder.sweep.plan.about, seen)
    strict = ((name, None) for name in gates.fail_on)
    counted = [one for gate in (*strict, *gates.budgets) for one in _counted(folder, gates, *gate)]
    adjusted = iter(numbers.holm([one.p for one in counted if one.p is not None]))
    found = (one if one.p is None else one._replace(adjusted_p=next(adjusted)) for one in counted)
    return Verdict(folder, tuple(found))


def _counted(
    folder: SweepFolder, gates: Gates, name: str, limit: float | None
) -> Iterator[GateFinding]:
    """Counts what a gate limits, in each environment under each rule set that is judged."""
    gate = f"fail-on {name}" if limit is None else f"budget {name}={numbers.share(limit)}"
    others = {ANY: ("verdict", "violated"), ABOUT: ("about", ANY)}
    measure, key = others.get(name, ("family" if name in FAMILIES else "invariant", name))
    for one in folder.statistics:
        named = one["name"] if len(folder.statistics) > 1 else ""
        for entry in one["rule_sets"]:
            label, judged = entry["label"], entry["judged"]
            if not gates.rule_sets or label in gates.rule_sets:
                seen = entry["counts"][measure].get(key, {"runs": 0, "first_run": None})
                yield GateFinding(
                    gate, label, named, seen["runs"], judged, seen["first_run"], limit
                )
