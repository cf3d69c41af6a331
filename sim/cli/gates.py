"""`replog gate`, and the gates of `replog sweep`: exit status 1 when a sweep shows too much."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.cli.arguments import Argument, Folder, Json, plugin_arguments
from sim.cli.github import hand_over
from sim.cli.output import EXIT_FAILED, EXIT_INCONCLUSIVE, complain, print_json, tell
from sim.errors import BadInput
from sim.files.foreign import shell

if TYPE_CHECKING:
    from sim.study.gates import Gates, Verdict
    from sim.study.sweep.unjudged import Unjudged


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The gates, what narrows them, and where else they are reported.

    Attributes:
        fail_on: Fail if any run violates this family or invariant, `any` invariant, or what the
            plan is `about`; may be given more than once.
        budget: Fail if the runs show that more than this share of them violates it; may be given
            more than once.
        rule_set: Judge this rule set alone; may be given more than once.
        markdown: Also write a table of the gates to this file.
    """

    fail_on: Annotated[list[str] | None, Argument(metavar="NAME")] = None
    budget: Annotated[list[str] | None, Argument(metavar="NAME=SHARE%")] = None
    rule_set: Annotated[list[str] | None, Argument(metavar="LABEL")] = None
    markdown: Annotated[Path | None, Argument(metavar="FILE")] = None


def gates_from(given: GateOptions) -> Gates | None:
    """The gates that the options ask for; None without any.

    Raises:
        BadInput: One cannot be read, or an option is about gates and there is none.
    """
    if not (given.fail_on or given.budget):
        for option, value in (("rule-set", given.rule_set), ("markdown", given.markdown)):
            if value:
                raise BadInput(f"--{option}: needs --fail-on or --budget")
        return None
    from sim.files.atomic import check_writable
    from sim.study.gates import Gates, budget_in

    if given.markdown is not None:
        check_writable(given.markdown, what=f"--markdown {given.markdown}")
    return Gates(
        fail_on=tuple(given.fail_on or ()),
        budgets=tuple(map(budget_in, given.budget or ())),
        rule_sets=tuple(given.rule_set or ()),
    )


def show_verdict(verdict: Verdict, given: GateOptions, *, as_json: bool) -> None:
    """Prints a line for each comparison, and writes page and annotations where asked for."""
    from sim.files.atomic import replace_text

    if not as_json:
        for line in verdict.lines():
            tell(line)
        if verdict.reproduce is not None:
            print(f"reproduce: {verdict.reproduce}")
    page = verdict.as_markdown()
    if given.markdown is not None:
        replace_text(given.markdown, page)
    hand_over(page, verdict.error_commands(), as_json=as_json)


def gate(folder: Folder, *, options: GateOptions, as_json: Json = False) -> int:
    """Judge a finished sweep by gates, without running anything.

    Status 0: every gate passed. 1: one failed, or a run ended in an exception. 3: the runs are too
    few to decide, or one hit a bound. The test of a budget is exact and one-sided; budgets together
    are corrected for being many (Holm).
    """
    from sim.study.gates import judge
    from sim.study.report import read_folder
    from sim.study.sweep.unjudged import unjudged

    gates = gates_from(options)
    if gates is None:
        raise BadInput(f"{folder}: no gate; give --fail-on or --budget")
    verdict = judge(read_folder(folder), gates)
    missing = unjudged(verdict.folder.statistics)
    if as_json:
        unfinished = {"errors": missing.errors, "unfinished": missing.unfinished}
        print_json({"out": str(folder), **verdict.as_document(), **unfinished})
    show_verdict(verdict, options, as_json=as_json)
    if missing.first_run is not None:
        complain(not_green(missing, runs=verdict.folder.plan["runs"], out=folder))
    return status_of(verdict, missing)


def not_green(missing: Unjudged, *, runs: int, out: Path) -> str:
    """Why a sweep says less than it should, in a line, and the command that shows a run of it."""
    words = shell.command([out, missing.first_run, *plugin_arguments()])
    columns = f"see the columns error and reason of {out}/runs"
    return f"{missing.in_words(runs)}; {columns}\nreproduce: replog run {words}"


def status_of(verdict: Verdict | None, missing: Unjudged) -> int:
    """The exit status of gates and of runs without a verdict together."""
    outcome = "passed" if verdict is None else verdict.outcome
    if missing.errors or outcome == "failed":
        return EXIT_FAILED
    return EXIT_INCONCLUSIVE if missing.unfinished or outcome == "undecided" else 0
