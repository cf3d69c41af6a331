"""`replog gate`, and the gates of `replog sweep`: exit status 1 when a sweep shows too much."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.cli.arguments import Argument, Json, plugin_arguments
from sim.cli.github import hand_over
from sim.cli.output import EXIT_FAILED, EXIT_INCONCLUSIVE, complain, print_json, tell
from sim.errors import BadInput
from sim.files.foreign import shell

if TYPE_CHECKING:
    from sim.study.gates import Gates, Verdict
    from sim.study.sweep.plan import Plan
    from sim.study.sweep.unjudged import Unjudged

STATUS = {"passed": 0, "failed": EXIT_FAILED, "undecided": EXIT_INCONCLUSIVE}
"""Exit statuses by outcome."""


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The gates, what narrows them, and where else they are told.

    Attributes:
        fail_on: Fail if any run violates this family or invariant, `any` invariant, or what the
            plan is `about`; may be given more than once.
        budget: Fail if the runs show that more than this share of them violates it; may be given
            more than once.
        rule_set: Judge this rule set alone; may be given more than once.
        markdown: Also write a table of the gates to this file.
    """

    fail_on: Annotated[list[str] | None, Argument(metavar="NAME[,NAME]")] = None
    budget: Annotated[list[str] | None, Argument(metavar="NAME=SHARE%")] = None
    rule_set: Annotated[list[str] | None, Argument(metavar="LABEL")] = None
    markdown: Annotated[Path | None, Argument(metavar="FILE")] = None


def gates_from(given: GateOptions) -> Gates | None:
    """The gates that the options ask for; None without any.

    Raises:
        BadInput: One cannot be read, or an option is about gates and there is none.
    """
    if not (given.fail_on or given.budget):
        for name in ("rule_set", "markdown"):
            if getattr(given, name):
                option = f"--{name.replace('_', '-')}"
                raise BadInput(f"{option}: needs --fail-on or --budget")
        return None
    from sim.files.atomic import check_writable
    from sim.study.gates import Gates, budget_in, names_in

    if given.markdown is not None:
        check_writable(given.markdown, what=f"--markdown {given.markdown}")
    return Gates(
        fail_on=tuple(name for text in given.fail_on or () for name in names_in(text)),
        budgets=tuple(map(budget_in, given.budget or ())),
        rule_sets=tuple(given.rule_set or ()),
    )


def check_gates(gates: Gates, plan: Plan) -> None:
    """Refuse, before anything runs, what could not be judged afterwards.

    Raises:
        BadInput: Gates name what there is not.
    """
    from sim.study.gates.wanted import check_names, check_rule_sets
    from sim.study.sweep.plan import number_runs

    check_names(gates, about=plan.about)
    check_rule_sets(gates, [rule_set.label for rule_set in number_runs(plan).rule_sets])


def verdict_of(folder: Path, gates: Gates) -> Verdict:
    """Judges a finished sweep.

    Raises:
        BadInput: The folder is no finished sweep, or gates name what there is not.
    """
    from sim.study.gates import judge
    from sim.study.report import read_folder

    return judge(read_folder(folder), gates)


def hand_over_verdict(verdict: Verdict, given: GateOptions, *, as_json: bool) -> None:
    """Writes what others show."""
    from sim.files.atomic import replace_text
    from sim.study.gates.page import as_markdown, error_commands

    page = as_markdown(verdict)
    if given.markdown is not None:
        replace_text(given.markdown, page)
    hand_over(page, error_commands(verdict), as_json=as_json)


def show_verdict(verdict: Verdict) -> None:
    """One line for each comparison, what failed last, and the command that shows it."""
    from sim.study.gates.page import lines

    for line in lines(verdict):
        tell(line)
    if verdict.reproduce is not None:
        print(f"reproduce: {verdict.reproduce}")


def gate(
    folder: Annotated[Path, Argument(metavar="DIR")], *, options: GateOptions, as_json: Json = False
) -> int:
    """Judge a finished sweep by gates, without running anything.

    Status 0: every gate passed. 1: one failed, or a run ended in an exception. 3: the runs are too
    few to decide, or one hit a bound. The test of a budget is exact and one-sided; budgets together
    are corrected for being many (Holm).

    Args:
        folder: A finished sweep's folder.
    """
    from sim.study.gates.page import as_document
    from sim.study.sweep.unjudged import unjudged

    gates = gates_from(options)
    if gates is None:
        raise BadInput(f"{folder}: no gate; give --fail-on or --budget")
    verdict = verdict_of(folder, gates)
    missing = unjudged(verdict.folder.tallies)
    if as_json:
        unfinished = {"errors": missing.errors, "unfinished": missing.unfinished}
        print_json({"out": str(folder), **as_document(verdict), **unfinished})
    else:
        show_verdict(verdict)
    hand_over_verdict(verdict, options, as_json=as_json)
    if missing.first_run is not None:
        complain(not_green(missing, runs=verdict.folder.plan["runs"], out=folder))
    return worst(STATUS[verdict.outcome], missing.errors, missing.unfinished)


def not_green(missing: Unjudged, *, runs: int, out: Path) -> str:
    """Why a sweep says less than it should, in a line, and the command that shows a run of it."""
    words = shell.command([out, missing.first_run, *plugin_arguments()])
    told = f"{missing.in_words(runs)}; see the columns error and reason of {out}/runs"
    return f"{told}\nreproduce: replog run {words}"


def worst(status: int, errors: int, unfinished: int) -> int:
    """The exit status of gates and of runs without a verdict together."""
    if errors or status == EXIT_FAILED:
        return EXIT_FAILED
    return EXIT_INCONCLUSIVE if unfinished else status
